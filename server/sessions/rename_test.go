package sessions

import (
	"context"
	"errors"
	"maps"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/tunnel"
)

// storedNames renames in the fake API as the center does in its store.
type storedNames struct {
	c     *center
	tries atomic.Int32
}

func (s *storedNames) Rename(_ context.Context, from, to string) error {
	if s.tries.Add(1) == 1 {
		return errors.New("the store is away")
	}
	old := s.c.api.get(targetsPath + "/" + from)
	meta := maps.Clone(metaOf(old))
	notes := maps.Clone(meta["annotations"].(map[string]any))
	had, _ := notes[v1alpha1.AnnotationRenames].(string)
	n, _ := strconv.Atoi(had)
	delete(notes, v1alpha1.AnnotationRenameTo)
	notes[v1alpha1.AnnotationRenames], notes[v1alpha1.AnnotationFormerNames] = strconv.Itoa(n+1), from
	meta["name"], meta["annotations"] = to, notes
	now := maps.Clone(old)
	now["metadata"] = meta
	s.c.api.change(targetsPath+"/"+to, now)
	s.c.api.change(targetsPath+"/"+from, nil)
	return nil
}

func (c *center) wishName(name, to string) {
	c.api.change(targetsPath+"/"+name, map[string]any{
		"metadata": map[string]any{"annotations": map[string]any{v1alpha1.AnnotationRenameTo: to}},
	})
}

// A renamed site ends its session, comes with the certificate of its old name, is told the new one, and
// renews what it has. Whoever has another key under the old name is somebody else.
func TestARenamedSiteKeepsItsCertificate(t *testing.T) {
	c := newCenter(t)
	c.rename = &storedNames{c: c}
	c.open()
	s := c.joined("paris")
	renames := func(cfg *tunnel.ChildConfig) { cfg.Hello.Renames = true }
	first := c.connect(s, renames)
	got(t, first.welcome, "a welcome")
	c.wishName("paris", "lyon")
	got(t, first.ended, "the end of the session")
	within(t, "the new name alone is known", func() bool {
		_, now := c.sessions.targets.get("lyon")
		_, old := c.sessions.targets.get("paris")
		return now && !old
	})
	second := c.connect(s, renames)
	w := got(t, second.welcome, "a welcome")
	if w.Name != "lyon" || len(w.Formerly) != 1 || w.Formerly[0] != "paris" {
		t.Errorf("it is told the name %q, formerly %q", w.Name, w.Formerly)
	}
	key := c.sessions.targets.uid("lyon")
	if w.Site != key {
		t.Errorf("it is site %q, of %q", w.Site, key)
	}
	id := c.sessions.session("lyon").conn.Peer()
	if id.Target != "lyon" || id.Certified != "paris" {
		t.Errorf("its certificate stands for %q, and says %q", id.Target, id.Certified)
	}
	var soon *tunnel.Refused
	if err := c.sessions.member(tunnel.Identity{Target: "paris", Key: id.Key}); !errors.As(err, &soon) ||
		soon.RetryAfter > renamePause {
		t.Errorf("who dialled before the rename is refused after it with %v", err)
	}
	if chain, _, err := (parentEnd{c.sessions, c.sessions.session("lyon"), c.sessions.cfg.Log}).Sign(t.Context(), id,
		s.csr(t)); err != nil || len(chain) == 0 {
		t.Errorf("it cannot renew its certificate: %v", err)
	}
	stranger := c.sessions.Resolve(tunnel.Identity{Target: "paris", Key: "another"})
	if stranger.Target != "paris" || stranger.Certified != "" {
		t.Errorf("another key by the old name stands for %q", stranger.Target)
	}
	c.revoke("lyon")
	got(t, second.ended, "the end of the session")
	third := c.connect(s, renames)
	var why *tunnel.Refused
	if err := got(t, third.ended, "a refusal"); !errors.As(err, &why) || why.Reason != revoked {
		t.Errorf("with a revoked key it is let in, or told %v", err)
	}
}

// What cannot be renamed says why in its status, until that is not wished any more.
func TestWhyASiteIsNotRenamed(t *testing.T) {
	t.Parallel()
	c := newCenter(t)
	c.rename = &storedNames{c: c}
	c.open()
	paris := c.joined("paris")
	c.joined("oslo")
	c.api.change("/apis/skerry.dev/v1alpha1/locations/eu", map[string]any{
		"apiVersion": "skerry.dev/v1alpha1", "kind": "Location", "metadata": map[string]any{"name": "eu"}})
	able := c.connect(c.joined("able"), func(cfg *tunnel.ChildConfig) { cfg.Hello.Renames = true })
	got(t, able.welcome, "a welcome")
	l := c.connect(paris)
	got(t, l.welcome, "a welcome")
	for _, test := range []struct{ name, to, reason string }{
		{"paris", "oslo", "NameTaken"}, {"paris", "root", "InvalidName"}, {"paris", "Upper", "InvalidName"},
		{"paris", "apis", "InvalidName"}, {"oslo", "rome", "Away"}, {"able", "eu", "NameTaken"}, {"paris", "rome", "AgentTooOld"},
	} {
		c.wishName(test.name, test.to)
		within(t, test.to+" is refused with "+test.reason, func() bool {
			return says(c.api.status(t, test.name), v1alpha1.ConditionRenaming, "False/"+test.reason)
		})
		c.api.change(targetsPath+"/"+test.name, map[string]any{
			"metadata": map[string]any{"annotations": map[string]any{v1alpha1.AnnotationRenameTo: nil}},
		})
		within(t, "it is not wished any more", func() bool {
			is := c.api.status(t, test.name)
			return apimeta.FindStatusCondition(is.Conditions, v1alpha1.ConditionRenaming) == nil
		})
	}
	select {
	case err := <-l.ended:
		t.Errorf("the session of a site that is not renamed ended: %v", err)
	case <-time.After(10 * time.Millisecond):
	}
}
