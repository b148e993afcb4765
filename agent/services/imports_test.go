package services

import (
	"fmt"
	"io"
	"net/netip"
	"testing"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/agent/targettest"
	"skerry.dev/skerry/tunnel/exchange"
)

// importing is a site whose Service serves the import db, also for Pods of the space desk.
func importing(t *testing.T, change func(api *targettest.Server)) *site {
	api := newAPI(t)
	api.Put("v1", "Namespace", "", "desk", namespace("desk", "u-desk"))
	if change != nil {
		change(api)
	}
	is := service(target.ReachSpace, port("http", 80, "TCP"))
	is["metadata"].(m)["annotations"].(m)[target.AnnotationMembers] = "desk=u-desk,shop=u-shop"
	is["metadata"].(m)["labels"].(m)[target.LabelImported] = "db"
	return run(t, &site{api: api, up: newParent(t), uid: api.Put("v1", "Service", "app", "web", is)}, t.TempDir())
}

// Pods of the spaces of its set call what serves an import, since their own import has no Namespace here. It knows
// nothing of them but the address. Those of an earlier space of the name are strangers.
func TestPodsOfTheSetCallAnImport(t *testing.T) {
	for name, c := range map[string]struct {
		of     m
		known  bool // before the cluster is asked
		serves bool
	}{
		"of the set":          {namespace("desk", "u-desk"), true, true},
		"not known yet":       {namespace("desk", "u-desk"), false, true},
		"of another space":    {namespace("other", "u-other"), true, false},
		"of an earlier space": {namespace("desk", "u-before"), true, false},
		"earlier, not known":  {namespace("desk", "u-before"), false, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := importing(t, func(api *targettest.Server) {
				api.Put("v1", "Namespace", "", "desk", c.of)
			})
			s.residentAt("desk", "127.0.0.5")
			if c.known {
				eventually(t, "the Pod is known", func() bool {
					s.mu.Lock()
					defer s.mu.Unlock()
					return len(s.pods["127.0.0.5"]) > 0
				})
			} else {
				s.forgetPods()
			}
			conn := s.dialFrom(t, "127.0.0.5", "http")
			if !c.serves {
				if !isReset(conn) {
					t.Error("it is served")
				}
				return
			}
			if _, err := io.ReadFull(conn, make([]byte, 4)); err != nil {
				t.Fatal(err)
			}
			want := exchange.Caller{Address: netip.MustParseAddr("127.0.0.5")}
			if told := s.up.lastCaller(t); told.Encode() != want.Encode() {
				t.Errorf("told: %s, want %s", told.Encode(), want.Encode())
			}
		})
	}
}

// The cluster's DNS finds an import by a ServiceImport, in whatever version the cluster knows that. Where it does not,
// the Service answers by its own name.
func TestTheClusterKnowsWhatIsImported(t *testing.T) {
	kind := func(version string) targettest.Kind {
		return targettest.Kind{Group: "multicluster.x-k8s.io", Version: version, Plural: "serviceimports",
			Kind: "ServiceImport", Namespaced: true}
	}
	says := func(s *site) string {
		o := s.api.Object("multicluster.x-k8s.io", "serviceimports", "app", "db")
		if o == nil {
			return ""
		}
		owner := o["metadata"].(m)["ownerReferences"].([]any)[0].(m)
		return fmt.Sprint(o["spec"].(m)["ips"], o["spec"].(m)["ports"].([]any)[0].(m)["port"], owner["uid"] == s.uid)
	}
	for _, version := range []string{"v1beta1", "v1alpha1"} {
		t.Run(version, func(t *testing.T) {
			s := importing(t, func(api *targettest.Server) { api.Serve(kind(version)) })
			eventually(t, "it is there", func() bool { return says(s) == "[10.96.0.9] 80 true" })
		})
	}
	t.Run("no name", func(t *testing.T) { // the label is anybody's who uses the space
		api := newAPI(t)
		api.Serve(kind("v1beta1"))
		is := service(target.ReachSpace, port("http", 80, "TCP"))
		is["metadata"].(m)["labels"].(m)[target.LabelImported] = "No_Name"
		s := run(t, &site{api: api, up: newParent(t), uid: api.Put("v1", "Service", "app", "web", is)}, t.TempDir())
		if _, err := io.ReadFull(s.dial(t, "http"), make([]byte, 4)); err != nil {
			t.Fatal(err)
		}
		if o := api.Object("multicluster.x-k8s.io", "serviceimports", "app", "No_Name"); o != nil {
			t.Errorf("the cluster is told of %v", o)
		}
	})
	t.Run("unknown", func(t *testing.T) {
		s := importing(t, nil)
		if _, err := io.ReadFull(s.dial(t, "http"), make([]byte, 4)); err != nil {
			t.Fatal(err)
		}
		if s.log.has("not all names") {
			t.Error("it is told as a fault")
		}
	})
}
