package agent

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/agent/targettest"
	"skerry.dev/skerry/store"
)

// full is a center with a site that has n ConfigMaps, a Secret, a Deployment and a Namespace, and
// is stopped.
func full(t *testing.T, n int) (*center, *targettest.Server, string, []store.Entry) {
	t.Helper()
	c, api, dir := newCenter(t), targettest.NewInMemory(t), t.TempDir()
	all := []store.Entry{namespace("app"), deployment(1, "app", "web", 2),
		live(
			"",
			"secrets",
			"v1",
			"Secret",
			"app",
			"s",
			map[string]any{"data": map[string]any{"password": "cGFzc3dvcmQ="}},
		)}
	for i := range n {
		all = append(all, configMap("app", fmt.Sprint("c", i), strings.Repeat("x", i)))
	}
	w := c.agent(dir, api, c.token.String())
	c.place(all...)
	c.eventuallyApplied(all)
	w.stop()
	return c, api, dir, all
}

func (c *center) eventuallyApplied(all []store.Entry) {
	c.t.Helper()
	eventually(c.t, "everything is reported as applied", func() bool {
		for _, e := range all {
			if r := c.reported(e.Key); r == nil || r.Applied != e.Hash.String() {
				return false
			}
		}
		return true
	})
}

func objectOf(api *targettest.Server, e store.Entry) map[string]any {
	return api.Object(e.Key.Group, e.Key.Resource, e.Key.Namespace, e.Key.Name)
}

func version(o map[string]any) string {
	m, _ := o["metadata"].(map[string]any)
	return fmt.Sprint(m["uid"], "@", m["resourceVersion"])
}

// damages are what may happen to the file while the agent is down.
var damages = map[string]func(t *testing.T, path string){
	"deleted": func(t *testing.T, path string) {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	},
	"cut":   func(t *testing.T, path string) { rewrite(t, path, func(b []byte) []byte { return b[:len(b)/3] }) },
	"empty": func(t *testing.T, path string) { rewrite(t, path, func(b []byte) []byte { return nil }) },
	"garbage": func(t *testing.T, path string) {
		rewrite(t, path, func(b []byte) []byte { return []byte(strings.Repeat("garbage ", 9000)) })
	},
	"pages": func(t *testing.T, path string) {
		rewrite(t, path, func(b []byte) []byte {
			for page := 2; page < len(b)/4096; page += 3 {
				for i := range 4096 {
					b[page*4096+i] = byte(rand.Uint32())
				}
			}
			return b
		})
	},
	"inventory": func(t *testing.T, path string) {
		rewrite(t, path, func(b []byte) []byte {
			for page := 2; page < len(b)/4096; page++ {
				if p := b[page*4096 : (page+1)*4096]; strings.Contains(string(p), `"applied":"`) {
					copy(p[16:], strings.Repeat("garbage ", 510))
				}
			}
			return b
		})
	},
	"no key": func(t *testing.T, path string) {
		if err := os.Remove(filepath.Join(filepath.Dir(path), sealFile)); err != nil {
			t.Fatal(err)
		}
	},
}

func rewrite(t *testing.T, path string, change func([]byte) []byte) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, change(b), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Whatever happens to the file: nothing is deleted or rewritten but what the parent has deleted or
// changed meanwhile.
func TestLostCache(t *testing.T) {
	t.Parallel()
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, api, dir, all := full(t, 80)
			damage(t, filepath.Join(dir, cacheFile))
			copied := api.Object("", "configmaps", "app", "c0") // by a user: it has our marks and another name
			delete(copied["metadata"].(map[string]any), "managedFields")
			api.Put("v1", "ConfigMap", "app", "copy", map[string]any{"data": copied["data"], "metadata": map[string]any{
				"labels":      copied["metadata"].(map[string]any)["labels"],
				"annotations": copied["metadata"].(map[string]any)["annotations"]}})
			before := map[store.Key]string{}
			for _, e := range all {
				before[e.Key] = version(objectOf(api, e))
			}
			if labels := copied["metadata"].(map[string]any)["labels"].(map[string]any); labels[target.LabelSite] != "site-1" {
				t.Fatalf("an applied object has the labels %v", labels)
			}
			removed, kept := all[len(all)-10:], all[:len(all)-10]
			var decision []store.Entry
			for _, e := range removed {
				decision = append(decision, gone(e))
			}
			changed := configMap("app", "c3", "changed")
			c.place(append(decision, changed)...)

			w := c.agent(dir, api, "")
			eventually(t, "what was deleted meanwhile is gone, what was changed is changed", func() bool {
				for _, e := range removed {
					if objectOf(api, e) != nil {
						return false
					}
				}
				return objectOf(api, changed)["data"].(map[string]any)["value"] == "changed"
			})
			for i, e := range kept {
				if e.Key == changed.Key {
					kept[i] = changed
				}
			}
			c.eventuallyApplied(kept)
			for _, e := range kept {
				if now := version(objectOf(api, e)); now != before[e.Key] && e.Key != changed.Key {
					t.Errorf("%s was touched: %s, was %s", e.Key, now, before[e.Key])
				}
			}
			if api.Object("", "configmaps", "app", "copy") == nil {
				t.Error("an object that a user made from one of ours was deleted")
			}
			w.stop()
			s := &site{t: t, api: api, access: target.Cluster(api.Config())}
			s.start(dir)
			defer s.stop()
			if s.file.Unclean() || s.desired.Len() != len(kept) {
				t.Errorf(
					"after an ordinary end: unclean %t, %d objects, want %d",
					s.file.Unclean(),
					s.desired.Len(),
					len(kept),
				)
			}
			if findings, err := s.file.Check(); err != nil || len(findings) > 0 {
				t.Errorf("%v %v", findings, err)
			}
		})
	}
}

// Offline with a lost file nothing is touched; what could be saved of a damaged one is still
// enforced.
func TestLostCacheOffline(t *testing.T) {
	t.Parallel()
	for name, saved := range map[string]bool{"deleted": false, "inventory": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, api, dir, all := full(t, 40)
			c.close()
			damages[name](t, filepath.Join(dir, cacheFile))
			const path = "/api/v1/configmaps"
			changes, listed := api.Changes(), api.Listed(path)
			w := c.agent(dir, api, "")
			if saved {
				restored := func() bool {
					for i := range 40 {
						api.Remove("", "configmaps", "app", fmt.Sprint("c", i))
					}
					time.Sleep(20 * time.Millisecond)
					for i := range 40 {
						if api.Object("", "configmaps", "app", fmt.Sprint("c", i)) != nil {
							return true
						}
					}
					return false
				}
				eventually(t, "what was saved is enforced", restored)
			} else {
				eventually(t, "the target is swept for what is ours", func() bool { return api.Listed(path) > listed })
			}
			// What is placed now is applied after everything that the agent does by itself.
			c.open()
			last := configMap("app", "last", "placed after the loss")
			c.place(last)
			c.eventuallyApplied(append(all, last))
			if n := api.Changes(); !saved && n != changes+1 {
				t.Errorf("%d changes of the target, want 1: that which was placed", n-changes)
			}
			for _, e := range all {
				eventually(t, e.Key.String()+" is there", func() bool { return objectOf(api, e) != nil })
			}
			w.stop()
		})
	}
}

// A parent with other data is held also when the file that would know it was lost.
func TestLostCacheAndAnotherCenter(t *testing.T) {
	t.Parallel()
	c, api, dir, all := full(t, 5)
	damages["deleted"](t, filepath.Join(dir, cacheFile))
	c.reset(store.NewIncarnation(), 1)
	c.place(configMap("default", "new", "1"))
	held, _ := c.hold()
	w := c.agent(dir, api, "")
	awaitHeld(t, held)
	for _, e := range all {
		if objectOf(api, e) == nil {
			t.Errorf("%s is gone", e.Key)
		}
	}
	if api.Object("", "configmaps", "default", "new") != nil {
		t.Error("another center was obeyed")
	}
	w.stop()
}

// Damage that shows only when a value is read: the agent starts again by itself and goes on.
func TestDamageWhileRunning(t *testing.T) {
	t.Parallel()
	c, api, dir, all := full(t, 30)
	w := c.agent(dir, api, "")
	next := configMap("app", "next", "1")
	c.place(next)
	c.eventuallyApplied([]store.Entry{next})
	path := filepath.Join(dir, cacheFile)
	eventually(t, "the agent has written down what it did", func() bool { // or the damage hits a page that it uses anew
		info, err := os.Stat(path)
		return err == nil && time.Since(info.ModTime()) > time.Second
	})
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	key := "shop//configmaps/app/c7" // in a leaf page the value comes right behind its key
	for at := strings.Index(string(b), key); at >= 0; {
		if _, err := f.WriteAt([]byte{b[at+len(key)+40] ^ 0xff}, int64(at+len(key)+40)); err != nil {
			t.Fatal(err)
		}
		rest := strings.Index(string(b[at+1:]), key)
		if rest < 0 {
			break
		}
		at += 1 + rest
	}
	f.Close()
	api.Remove(
		"",
		"configmaps",
		"app",
		"c7",
	) // once: who removes it again and again is a contest, and answered ever more slowly
	eventually(t, "the object is written again from a value that came anew", func() bool {
		return api.Object("", "configmaps", "app", "c7") != nil
	})
	c.eventuallyApplied(all)
	w.stop()
}

// An object that was applied before its entry was durable, and a crash: the sweep finds it and the
// parent decides.
func TestAppliedButNotKnown(t *testing.T) {
	t.Parallel()
	c, api, dir, _ := full(t, 3)
	s := &site{t: t, api: api, access: target.Cluster(api.Config())}
	s.start(dir)
	client, err := s.clients.For("")
	if err != nil {
		t.Fatal(err)
	}
	orphan, wanted := configMap("app", "orphan", "1"), configMap("app", "wanted", "1")
	for _, e := range []store.Entry{orphan, wanted} {
		if _, _, err := client.Apply(context.Background(), target.Of(e.Key, "v1"), "app", e.Key.Name,
			e.Body, target.Applying{}); err != nil {
			t.Fatal(err)
		}
	}
	before := version(objectOf(api, wanted))
	s.stop() // without Settled, as a crash leaves it
	c.place(wanted)
	w := c.agent(dir, api, "")
	eventually(t, "what the parent does not want is gone", func() bool { return objectOf(api, orphan) == nil })
	c.eventuallyApplied([]store.Entry{wanted})
	if now := version(objectOf(api, wanted)); now != before {
		t.Errorf("what the parent wants was written again: %s, was %s", now, before)
	}
	w.stop()
}

func TestSelfSurvivesGarbage(t *testing.T) {
	dir := t.TempDir()
	s, err := openSiteIdentity(dir, discard())
	if err != nil {
		t.Fatal(err)
	}
	for _, uid := range []string{"a", "b", "", "c", "d", "e", "b"} {
		s.welcomed(uid, 0)
	}
	at := store.Position{Incarnation: store.NewIncarnation(), Era: 7, Revision: 9}
	s.follows(at)
	at.Revision = 10
	s.follows(at)
	if s, err = openSiteIdentity(dir, discard()); err != nil || fmt.Sprint(s.sites()) != "[b e d c]" ||
		s.followed().Revision != 9 {
		t.Errorf("%v, %v, %v", s.sites(), s.followed(), err)
	}
	if err := os.WriteFile(filepath.Join(dir, siteFile), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err = openSiteIdentity(dir, discard()); err != nil || len(s.sites()) != 0 {
		t.Errorf("%v, %v", s.sites(), err)
	}
}
