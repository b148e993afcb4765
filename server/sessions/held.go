package sessions

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/delta"
)

// lose takes over what the agent would lose if it obeyed this center.
func (s *session) lose(h delta.Held) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = &h
}

// reportWithheld tells the spaces how many of their deletions the agent holds, when that is news.
func (s *session) reportWithheld(before *tunnel.ChildStatus, now *tunnel.Withheld) {
	if now == nil {
		return
	}
	for _, in := range now.In {
		if before == nil || before.Withheld == nil || !slices.Contains(before.Withheld.In, in) {
			s.center.Withheld(s.target, in)
		}
	}
}

// holdsBack is what the status says of what the agent holds; before is what it said. It stays while
// the agent's word is not complete: at the start of a session, and until it is known how a held
// agent differs.
func (is siteState) holdsBack(before *v1alpha1.SyncTargetHeld) *v1alpha1.SyncTargetHeld {
	if is.said == nil {
		return before
	}
	held, _ := is.offer()
	if held == nil && distrusts(is.said, tunnel.CenterRegressed) {
		return before
	}
	return held
}

func distrusts(said *tunnel.ChildStatus, reason string) bool {
	for _, c := range said.Conditions {
		if c.Type == tunnel.CenterTrusted && c.Status == tunnel.False && c.Reason == reason {
			return true
		}
	}
	return false
}

// offer is what an admin can accept now, and the order that it becomes.
func (is siteState) offer() (*v1alpha1.SyncTargetHeld, tunnel.Accept) {
	switch {
	case is.said == nil:
		return nil, tunnel.Accept{}
	case is.held != nil && distrusts(is.said, tunnel.CenterRegressed):
		h := is.held
		held := &v1alpha1.SyncTargetHeld{
			Reason:    tunnel.CenterRegressed,
			Message:   fmt.Sprintf("the target is at %s, this center at %s: %s", h.At, h.Head, h.Why),
			Objects:   int32(h.Objects),
			Deletions: int32(h.Delete),
			Changes:   int32(h.Change),
			Additions: int32(h.Add),
			Accept:    nameOf(tunnel.CenterRegressed, text(h.At), h.Head.Incarnation, h.Delete, h.Deletions),
		}
		for _, k := range h.First {
			held.First = append(held.First, k.String())
		}
		return held, tunnel.Accept{Center: h.Head, At: h.At, Deletions: h.Delete}
	case is.said.Withheld != nil && distrusts(is.said, tunnel.DeletionsHeld):
		w := is.said.Withheld
		return &v1alpha1.SyncTargetHeld{
				Reason:    tunnel.DeletionsHeld,
				Objects:   int32(w.Objects),
				Deletions: int32(w.Deletions),
				First:     w.First,
				Message: fmt.Sprintf(
					"%d of %d objects are to be deleted, up to revision %d",
					w.Deletions,
					w.Objects,
					w.UpTo,
				),
				Accept: nameOf(tunnel.DeletionsHeld, w.UpTo, w.Deletions),
			}, tunnel.Accept{
				DeletionsUpTo: w.UpTo,
			}
	default:
		return nil, tunnel.Accept{}
	}
}

// nameOf names what is offered, so that accepting it accepts nothing else.
func nameOf(parts ...any) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%+v", parts))
	return hex.EncodeToString(sum[:8])
}

func text(p store.Position) string {
	b, _ := p.MarshalText() // never fails
	return string(b)
}

// accepted sends an admin's acceptance to the agent, once, if it is of what the agent holds now.
func (srv *Server) accepted(s *session) {
	known, ok := srv.targets.get(s.target)
	if !ok || known.accept == "" {
		return
	}
	s.mu.Lock()
	held, order := siteState{said: s.said, held: s.held}.offer()
	again := s.given == known.accept
	s.mu.Unlock()
	if held == nil || held.Accept != known.accept || again {
		return
	}
	if !s.commands.Put(order) {
		return // it is looked at again at the next word of the agent
	}
	s.mu.Lock()
	s.given = known.accept
	s.mu.Unlock()
	srv.cfg.Log.Info(
		"an admin's acceptance goes to the target",
		"target",
		s.target,
		"reason",
		held.Reason,
		"deletions",
		held.Deletions,
	)
}
