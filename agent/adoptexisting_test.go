package agent

import (
	"fmt"
	"strings"
	"testing"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
)

func TestWhenAlreadyExists(t *testing.T) {
	theirs := map[string]any{"data": map[string]any{"value": "theirs"}}
	equal := map[string]any{"data": map[string]any{"value": "ours"}}
	more := map[string]any{"data": map[string]any{"value": "ours", "more": "x"}}
	less := map[string]any{"metadata": map[string]any{"labels": map[string]any{"a": "b"}}}
	elsewhere := map[string]any{"data": equal["data"], "metadata": map[string]any{"annotations": map[string]any{
		target.AnnotationOrigin: "warehouse/p", target.AnnotationOriginUID: "u"}}}
	before := map[string]any{"data": equal["data"], "metadata": map[string]any{"annotations": map[string]any{
		target.AnnotationOrigin: space + "/p", target.AnnotationOriginUID: "u"}}}
	cases := []struct {
		name, policy string
		there        map[string]any
		refused      string // part of the message; empty: taken over
	}{
		{"report", "", equal, "was not delivered from here"},
		{"report what has our space's mark of another object", "", before, "was not delivered from here"},
		{"unknown policy", `{"whenAlreadyExists":"SomethingNewer"}`, equal, "was not delivered from here"},
		{"take over", `{"whenAlreadyExists":"TakeOver"}`, theirs, ""},
		{"take over what this space had before", `{"whenAlreadyExists":"TakeOver"}`, before, ""},
		{"never from another space", `{"whenAlreadyExists":"TakeOver"}`, elsewhere, `from space "warehouse"`},
		{"equal", `{"whenAlreadyExists":"TakeOverIfNoDiff"}`, equal, ""},
		{"equal and more of their own", `{"whenAlreadyExists":"TakeOverIfNoDiff"}`, more, ""},
		{"different", `{"whenAlreadyExists":"TakeOverIfNoDiff"}`, theirs, "that differs;"},
		{"without the field", `{"whenAlreadyExists":"TakeOverIfNoDiff"}`, less, "that differs;"},
		{
			"different where it is retained",
			`{"whenAlreadyExists":"TakeOverIfNoDiff","retainFields":["/data/value"]}`,
			theirs,
			"",
		},
		{"equal, of another space", `{"whenAlreadyExists":"TakeOverIfNoDiff"}`, elsewhere, `from space "warehouse"`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				s := newSite(t)
				uid := s.api.PutAs("kubectl", "", "v1", "ConfigMap", "default", "c", c.there)
				found := s.api.Object("", "configmaps", "default", "c")
				e := configMap("default", "c", "ours")
				if c.policy != "" {
					e = with(e, c.policy)
				}
				s.desire(e)
				if c.refused != "" {
					if m := s.reported(e, "AlreadyExists"); !strings.Contains(m, c.refused) {
						t.Errorf("message %q", m)
					}
					if dump(s.api.Object("", "configmaps", "default", "c")) != dump(found) {
						t.Error("it was changed")
					}
					s.desire(gone(e))
					s.settled()
					if !s.exists(e) {
						t.Error("it was deleted")
					}
					return
				}
				s.settled()
				s.healthy(e)
				now := s.api.Object("", "configmaps", "default", "c")
				want := "ours"
				if strings.Contains(c.policy, "retain") {
					want = "theirs"
				}
				if s.data("c")["value"] != want || metadata(now)["uid"] != uid {
					t.Errorf("taken over: %v", now)
				}
				if c.name == "equal and more of their own" && s.data("c")["more"] != "x" {
					t.Error("a field of theirs is gone")
				}
				s.desire(gone(e))
				s.settled()
				if s.exists(e) {
					t.Error("what was taken over is not removed with its source")
				}
			})
		})
	}
}

// Somebody makes the object in the very moment in which it is written the first time.
func TestObjectMadeAtTheSameMomentIsNotTouched(t *testing.T) {
	inBubble(t, objectMadeAtTheSameMomentIsNotTouched)
}

func objectMadeAtTheSameMomentIsNotTouched(t *testing.T) {
	s := newSite(t)
	s.api.Before(func(method, _, name string) {
		if method == "PATCH" && s.api.Object("", "configmaps", "default", name) == nil {
			s.api.Put("v1", "ConfigMap", "default", name, map[string]any{"data": map[string]any{"theirs": "x"}})
		}
	})
	var all []store.Entry
	for i := range 20 {
		all = append(all, configMap("default", fmt.Sprint("c", i), "ours"))
	}
	s.desire(all...)
	for _, e := range all {
		s.reported(e, "AlreadyExists")
		if d := s.data(e.Key.Name); d["value"] != nil || d["theirs"] != "x" {
			t.Errorf("%s of somebody else is now %v", e.Key.Name, d)
		}
	}
	if n := s.api.Changes(); n != 0 {
		t.Errorf("%d changes", n)
	}
}

// Two spaces that place an object of the same name on one cluster: the first has it, the second is
// told whose it is.
func TestAnotherSpaceIsNamed(t *testing.T) { inBubble(t, anotherSpaceIsNamed) }

func anotherSpaceIsNamed(t *testing.T) {
	s := newSite(t)
	ours := configMap("default", "c", "ours")
	s.desire(ours)
	s.settled()
	theirs := ours
	theirs.Key.Space = "warehouse"
	theirs.Body = []byte(
		strings.Replace(string(ours.Body), `"skerry.dev/origin":"shop/"`, `"skerry.dev/origin":"warehouse/"`, 1),
	)
	theirs.Body = []byte(strings.Replace(string(theirs.Body), "source-", "other-", 1))
	theirs.Hash = store.HashBody(1, theirs.Body)
	s.desire(theirs)
	if m := s.reported(theirs, "AlreadyExists"); !strings.Contains(m, `space "shop"`) {
		t.Errorf("message %q", m)
	}
	s.desire(gone(theirs))
	s.settled()
	if !s.exists(ours) {
		t.Error("the other space's tombstone deleted it")
	}
}

// A lost record of an object whose source was made anew meanwhile: the label of the site tells that
// it is ours.
func TestObjectOfAnEarlierSourceIsOurs(t *testing.T) { inBubble(t, objectOfAnEarlierSourceIsOurs) }

func objectOfAnEarlierSourceIsOurs(t *testing.T) {
	s := newSite(t)
	s.clients.SetSite("this-site")
	for site, refused := range map[string]bool{"this-site": false, "another-site": true} {
		c, j := configMap("default", site, "ours"), job(site, map[string]any{"parallelism": 1})
		marks := map[string]any{
			"metadata": map[string]any{"labels": map[string]any{target.LabelSite: site}, "annotations": map[string]any{
				target.AnnotationOrigin: space + "/", target.AnnotationOriginUID: "an-earlier-source"}},
		}
		map1 := s.api.Put("v1", "ConfigMap", "default", site, marks)
		job1 := s.api.Put("batch/v1", "Job", "default", site, marks)
		s.desire(c, j)
		if refused {
			s.reported(c, "AlreadyExists")
			s.reported(j, "AlreadyExists")
			continue
		}
		s.healthy(c)
		s.healthy(j)
		if s.uid("", "configmaps", "default", site) != map1 || s.uid("batch", "jobs", "default", site) == job1 {
			t.Error("the config map was made anew, or the Job was not")
		}
	}
}
