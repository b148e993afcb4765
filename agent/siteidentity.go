package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/bolt"
)

// siteFile is beside the credentials and apart from agent.db, because it must survive the loss of
// that.
const siteFile = "site.json"

// formerSites is how many earlier UIDs of a site are stored.
const formerSites = 4

// formerNames is how many earlier names of a site are stored.
const formerNames = 8

// siteIdentity is what this agent is to its parent, and which incarnation and era of the parent's
// data it follows.
type siteIdentity struct {
	path string
	log  *slog.Logger

	mu   sync.Mutex
	said siteRecord
}

type siteRecord struct {
	// Sites are the UIDs that the parent has given this site, the present one first. They are the
	// label values of this site's objects on the target.
	Sites []string `json:"sites"`
	// Names are what the parent calls this site, the present name first, and then those that it had. Empty
	// before the first session with a parent that says so: then it is the name that it joined with.
	Names []string `json:"names,omitempty"`
	// Centers are the incarnations of the center's data that this site has followed, the present
	// one first: the namespace of the spaces' accounts is annotated with it. The center's may change, when an
	// admin has accepted it with other data.
	Centers []store.Incarnation `json:"centers,omitempty"`
	// Follows is where the copy of the parent's data was when its incarnation or its era changed
	// last.
	Follows store.Position `json:"follows"`
	// Removed is when the parent said that it has removed this site, Unix time; 0 as long as it is
	// wanted.
	Removed int64 `json:"removed,omitempty"`
	// Reports is the form of reports that the parent said it reads: after a restart they are on
	// their way before it says so again.
	Reports int `json:"reports,omitempty"`
	// Target is the cluster that this site writes to, and how far its history was at the last
	// ordinary end.
	Target target.Identity `json:"target,omitzero"`
	// Replaced is the cluster that it wrote to before, as long as the inventory may still be of
	// that.
	Replaced string `json:"replaced,omitempty"`
}

// openSiteIdentity reads the file. An unreadable file counts as none: the parent says its part
// again.
func openSiteIdentity(dir string, log *slog.Logger) (*siteIdentity, error) {
	s := &siteIdentity{path: filepath.Join(dir, siteFile), log: log}
	data, err := os.ReadFile(s.path)
	if errors.Is(err, os.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read what this site is: %w", err)
	}
	if err := json.Unmarshal(data, &s.said); err != nil {
		log.Warn("the file of what this site is cannot be read; the parent says it again", "path", s.path, "err", err)
		s.said = siteRecord{}
	}
	return s, nil
}

// KnownCluster returns the cluster that the site of a data directory wrote to last, "" for none: the
// UID of its Namespace kube-system.
func KnownCluster(dir string) string {
	known, err := openSiteIdentity(dir, slog.New(slog.DiscardHandler))
	if err != nil {
		return ""
	}
	return known.said.Target.Cluster
}

// sites are the values of LabelSite of this site, the present one first; none before the first
// session.
func (s *siteIdentity) sites() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.said.Sites)
}

// followed is the parent's data that the copy was made of.
func (s *siteIdentity) followed() store.Position {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.said.Follows
}

// removedAt is when the parent removed this site; zero when it did not.
func (s *siteIdentity) removedAt() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.said.Removed == 0 {
		return time.Time{}
	}
	return time.Unix(s.said.Removed, 0)
}

// removed notes that the parent has removed this site.
func (s *siteIdentity) removed(at time.Time) {
	s.change(func(now *siteRecord) bool {
		now.Removed = at.Unix()
		return true
	})
}

// reads is the form of reports that the parent reads, as far as it has said.
func (s *siteIdentity) reads() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.said.Reports
}

// welcomed takes over what the parent calls this site, and what it reads.
func (s *siteIdentity) welcomed(uid string, reads int) {
	s.change(func(now *siteRecord) bool {
		other := now.Reports != reads || now.Removed != 0
		now.Reports, now.Removed = reads, 0
		return other
	})
	s.change(func(now *siteRecord) bool {
		if uid == "" || len(now.Sites) > 0 && now.Sites[0] == uid {
			return false
		}
		others := slices.DeleteFunc(slices.Clone(now.Sites), func(other string) bool { return other == uid })
		now.Sites = append([]string{uid}, others[:min(len(others), formerSites-1)]...)
		return true
	})
}

// names are the names of this site, the present one first; none where no parent has said any.
func (s *siteIdentity) names() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.said.Names)
}

// named takes over what the parent calls this site, and reports whether that is another name than
// before.
func (s *siteIdentity) named(name string, formerly []string) (renamed bool) {
	names := append([]string{name}, formerly[:min(len(formerly), formerNames)]...)
	s.change(func(now *siteRecord) bool {
		if name == "" || slices.Equal(now.Names, names) {
			return false
		}
		renamed = len(now.Names) > 0 && now.Names[0] != name || len(formerly) > 0 && len(now.Names) == 0
		now.Names = names
		return true
	})
	return renamed
}

// target is what is known of the cluster that this site writes to.
func (s *siteIdentity) target() target.Identity {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.said.Target
}

// replaced is the cluster that this site wrote to before, "" when it is still that or the inventory
// is of the present one.
func (s *siteIdentity) replaced() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.said.Replaced
}

// replace notes that the cluster is another one.
func (s *siteIdentity) replace(now target.Identity) {
	s.change(func(known *siteRecord) bool {
		other := known.Target.Cluster != now.Cluster
		if other {
			known.Replaced, known.Target = known.Target.Cluster, now
		}
		return other
	})
}

// settled notes that nothing is known of the former cluster any more.
func (s *siteIdentity) settled() {
	s.change(func(known *siteRecord) bool {
		other := known.Replaced != ""
		known.Replaced = ""
		return other
	})
}

// writesTo notes which cluster this site writes to, and how far its history is.
func (s *siteIdentity) writesTo(now target.Identity) {
	s.change(func(known *siteRecord) bool {
		other := known.Target != now
		known.Target = now
		return other
	})
}

// follows notes which parent's data the copy is made of.
func (s *siteIdentity) follows(at store.Position) {
	s.change(func(now *siteRecord) bool {
		if now.Follows.Incarnation == at.Incarnation && now.Follows.Era == at.Era {
			return false
		}
		now.Follows = at
		now.of(at.Incarnation)
		return true
	})
}

// of takes over which center this is.
func (s *siteRecord) of(center store.Incarnation) bool {
	if center.IsZero() || len(s.Centers) > 0 && s.Centers[0] == center {
		return false
	}
	others := slices.DeleteFunc(slices.Clone(s.Centers), func(other store.Incarnation) bool { return other == center })
	s.Centers = append([]store.Incarnation{center}, others[:min(len(others), formerSites-1)]...)
	return true
}

// centers are the incarnations of the center that this site has followed, the present one first.
func (s *siteIdentity) centers() []store.Incarnation {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.said.Centers)
}

// meets takes over which center this is when there is no other one that this site follows: nothing
// of it was stored yet.
func (s *siteIdentity) meets(center store.Incarnation) {
	s.change(func(now *siteRecord) bool { return now.Follows.Incarnation.IsZero() && now.of(center) })
}

// change writes the file when something is new in it, which is when the site joins, and when the
// parent was restarted.
func (s *siteIdentity) change(do func(*siteRecord) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !do(&s.said) {
		return
	}
	data, err := json.Marshal(s.said)
	if err == nil {
		err = bolt.Replace(s.path, data)
	}
	if err != nil {
		s.log.Warn("what this site is could not be written; it is asked for again after a restart",
			"path", s.path, "err", err)
	}
}
