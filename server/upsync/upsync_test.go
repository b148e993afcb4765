package upsync

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/spaceapi/spaceapitest"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/upsync"
)

func TestObjectsCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t)
		c.place("apps", "paris", "rome")
		c.placement("apps")
		c.start()
		c.born("paris", "apps", "a", "1", nil)
		c.shows("a", "paris", "1")
		o := c.Object(secret("a"))
		if labels := fields.Map(o, "metadata", "labels"); len(labels) != 1 || labels["made"] != "here" {
			t.Errorf("labels %v", labels)
		}
		c.born("paris", "apps", "a", "2", nil)
		c.shows("a", "paris", "2")
		if fields.String(o, "metadata", "uid") != fields.String(c.Object(secret("a")), "metadata", "uid") {
			t.Error("a change made it another object")
		}
		c.says("paris", upsync.Key(secret("a")), nil)
		c.shows("a", "", "")
		for _, target := range []string{"paris", "rome"} {
			c.says(target, upsync.RuleKey("shop", "apps"), &store.Report{Applied: "x", Generation: 1})
		}
		c.condition("apps", "True", "Upsynced")
	})
}

// TestOnlyWhatIsAskedForComes has a target report what it may not.
func TestOnlyWhatIsAskedForComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t)
		c.place("apps", "paris")
		c.placement("apps")
		c.start()
		c.born("paris", "apps", "token", "x", map[string]any{"type": "kubernetes.io/service-account-token"})
		c.born("paris", "apps", "chart", "x", map[string]any{"type": "helm.sh/release.v1"})
		c.born("paris", "apps", "other", "x", map[string]any{"metadata": map[string]any{"name": "other", "namespace": "app"}})
		c.born("elsewhere", "apps", "foreign", "x", nil)
		c.born("paris", "apps", "good", "x", nil)
		c.says("paris", upsync.Key(secret("nobodys")), &store.Report{OriginUID: "none", Object: []byte(`{"kind":"Secret"}`)})
		role := store.Key{Space: "shop", Group: "rbac.authorization.k8s.io", Resource: "roles", Namespace: "app", Name: "r"}
		c.says("paris", upsync.Key(role), &store.Report{
			OriginUID: fields.String(c.Object(upsync.RuleKey("shop", "apps")), "metadata", "uid"), Object: []byte(`{"kind":"Role"}`)})
		c.shows("good", "paris", "x")
		c.condition("apps", "False", upsync.ReasonNotBrought, "objects that came: 1, left out: 2", "secrets/app/chart at paris")
		for _, k := range []store.Key{secret("token"), secret("chart"), secret("other"), secret("foreign"), secret("nobodys"), role} {
			if c.Object(k) != nil {
				t.Errorf("%s came", k)
			}
		}
	})
}

func TestNamesThatAreTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t)
		c.place("apps", "paris", "rome")
		c.placement("apps")
		mine := map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "mine", "uid": "u"},
			"data": map[string]any{"p": "of a user"}}
		c.Put(secret("mine"), mine)
		c.start()
		c.born("paris", "apps", "mine", "x", nil)
		c.condition("apps", "False", upsync.ReasonConflict, "the space has an object")
		spaceapitest.Eventually(t, "an Event", func() bool { return c.told() > 0 })
		c.Mu.Lock()
		if c.events[0].Reason != upsync.ReasonConflict || c.events[0].UID != "uid-of-apps" {
			t.Errorf("events %v", c.events)
		}
		c.Mu.Unlock()
		c.shows("mine", "", "of a user")
		c.Put(secret("mine"), nil)
		c.shows("mine", "paris", "x")

		c.born("rome", "apps", "both", "r", nil)
		c.shows("both", "rome", "r")
		c.born("paris", "apps", "both", "p", nil)
		c.condition("apps", "False", upsync.ReasonConflict, "secrets/app/both at paris")
		c.shows("both", "rome", "r")
		c.says("rome", upsync.Key(secret("both")), nil)
		c.shows("both", "paris", "p")
	})
}

func TestQuota(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t)
		c.place("apps", "paris")
		c.placement("apps")
		c.full = errors.New("the space is full")
		c.start()
		c.born("paris", "apps", "a", "1", nil)
		c.condition("apps", "False", upsync.ReasonQuota)
		if c.Object(secret("a")) != nil {
			t.Error("it came")
		}
	})
}

// What the space did not take comes once it does: there is room, or a definition.
func TestWhatIsRefusedComesLater(t *testing.T) {
	for reason, refuse := range map[string]func(c *center, err error){
		upsync.ReasonQuota:   func(c *center, err error) { c.full = err },
		upsync.ReasonRefused: func(c *center, err error) { c.refuses = err },
	} {
		synctest.Test(t, func(t *testing.T) {
			c := newCenter(t)
			c.place("apps", "paris")
			c.placement("apps")
			refuse(c, spaceapitest.NotFound(secret("a")))
			c.start()
			c.born("paris", "apps", "a", "1", nil)
			c.condition("apps", "False", reason)
			c.Mu.Lock()
			refuse(c, nil)
			c.Mu.Unlock()
			time.Sleep(askAgain + time.Second)
			synctest.Wait()
			if c.Object(secret("a")) == nil {
				t.Errorf("it does not come after %s", reason)
			}
		})
	}
}

// TestWhatIsNotKnownStays: stored reports were lost, and are not complete again.
func TestWhatIsNotKnownStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t)
		c.place("apps", "paris")
		c.placement("apps")
		c.start()
		c.born("paris", "apps", "a", "1", nil)
		c.born("paris", "apps", "b", "1", nil)
		c.shows("a", "paris", "1")
		c.shows("b", "paris", "1")
		uid := fields.String(c.Object(secret("a")), "metadata", "uid")
		c.stop()
		c.Mu.Lock()
		c.reports, c.partial["paris"], c.u = map[string]map[store.Key]store.Report{}, true, nil
		c.Mu.Unlock()
		c.start()
		c.placement("mark", "none")
		spaceapitest.Eventually(t, "something else is done", func() bool { return c.Object(upsync.RuleKey("shop", "mark")) != nil })
		c.born("paris", "apps", "a", "2", nil)
		c.shows("a", "paris", "2")
		c.shows("b", "paris", "1")
		if fields.String(c.Object(secret("a")), "metadata", "uid") != uid {
			t.Error("it was made anew")
		}
		c.Mu.Lock()
		c.partial["paris"] = false
		c.Mu.Unlock()
		c.shows("b", "", "")
	})
}

// TestReportIsUsedAgain: a target that is left and comes back before it has heard of that reports
// nothing anew.
func TestReportIsUsedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t)
		c.place("apps", "paris")
		c.placement("apps")
		c.start()
		c.born("paris", "apps", "a", "1", nil)
		c.shows("a", "paris", "1")
		c.place("apps", "rome")
		c.shows("a", "", "")
		c.place("apps", "paris")
		c.shows("a", "paris", "1")
	})
}

// TestHistories: whatever happens, in whatever order, with starts anywhere, the space comes to have
// what its rules select of what targets have, and its own objects as they were.
func TestHistories(t *testing.T) {
	names, targets, rules := []string{"a", "b", "c"}, []string{"paris", "rome"}, []string{"one", "two"}
	for seed := range uint64(histories(t)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := rand.New(rand.NewPCG(seed, 1))
				c := newCenter(t)
				at := map[string][]string{}   // where Placements are
				has := map[string][2]string{} // target/name -> rule, value
				mine := map[string]bool{}     // names that users have
				for _, rule := range rules {
					at[rule] = targets
					c.place(rule, targets...)
					c.placement(rule)
				}
				c.start()
				for step := range 30 {
					name, target, rule := names[r.IntN(3)], targets[r.IntN(2)], rules[r.IntN(2)]
					if r.IntN(3) == 0 {
						for range r.IntN(100) { // so that steps meet work in all its states
							runtime.Gosched()
						}
					}
					switch r.IntN(7) {
					case 0, 1, 2:
						value := fmt.Sprint(step)
						has[target+"/"+name] = [2]string{rule, value}
						c.born(target, rule, name, value, nil)
					case 3:
						delete(has, target+"/"+name)
						c.says(target, upsync.Key(secret(name)), nil)
					case 4:
						o := c.Object(secret(name))
						if o == nil && !mine[name] {
							err := func() error {
								_, err := c.Create(t.Context(), secret(name), "v1", map[string]any{"apiVersion": "v1", "kind": "Secret",
									"metadata": map[string]any{"name": name}, "data": map[string]any{"p": "mine"}})
								return err
							}()
							mine[name] = err == nil
						} else if mine[name] {
							delete(mine, name)
							c.Put(secret(name), nil)
						}
					case 5:
						at[rule] = targets[:1+r.IntN(2)]
						c.place(rule, at[rule]...)
					case 6:
						c.stop()
						c.start()
					}
				}
				for _, name := range names {
					spaceapitest.Eventually(t, name+" is as it should be", func() bool {
						o := c.Object(secret(name))
						value, from := fields.String(o, "data", "p"),
							fields.String(o, "metadata", "annotations", "skerry.dev/reported-from")
						if mine[name] {
							return value == "mine" && from == ""
						}
						possible := false
						for _, target := range targets {
							b, ok := has[target+"/"+name]
							for _, t := range at[b[0]] {
								possible = possible || ok && t == target
								if ok && t == target && from == target && value == b[1] {
									return true
								}
							}
						}
						return !possible && o == nil
					})
				}
				c.stop()
			})
		})
	}
}

func histories(t *testing.T) int {
	if testing.Short() {
		return 20
	}
	return 100
}
