package agent

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// What a site's admission takes off is written once, is told, stays told over a restart, and is told no
// more once the site keeps it.
func TestWhatASiteAltersIsTold(t *testing.T) { inBubble(t, whatASiteAltersIsTold) }

func whatASiteAltersIsTold(t *testing.T) {
	s := newSite(t)
	strip := func(plural string, o map[string]any) {
		if plural == "configmaps" {
			o["data"] = map[string]any{"added": "x"}
		}
		if spec, _ := o["spec"].(map[string]any); plural == "deployments" && spec["replicas"] != nil {
			spec["replicas"] = 1
		}
	}
	s.api.Mutate(strip)
	c, d, whole := configMap("default", "c", "ours"), deployment(1, "default", "web", 3), configMap("default", "d", "y")
	s.desire(c, d)
	s.settled()
	<-s.observer.Ready()
	said := func(name, want string) {
		t.Helper()
		k := c.Key
		if name == "web" {
			k = d.Key
		}
		eventually(t, name+" says "+want, func() bool {
			r := s.report(k)
			return r != nil && r.Error == nil && r.Applied != "" &&
				(want == "" && r.Altered == "" || want != "" && strings.Contains(r.Altered, want))
		})
	}
	said("c", "took off .data.value")
	said("web", "changed .spec.replicas")
	time.Sleep(time.Hour) // of the bubble: looked at again and again
	if n := s.writesTo("c") + s.writesTo("web"); n != 2 {
		t.Errorf("%d writes of two objects", n)
	}
	s.stop()
	s.start(s.DataDir)
	s.settled()
	said("c", "took off .data.value")
	if n := s.writesTo("c"); n != 1 {
		t.Errorf("%d writes after a restart", n)
	}
	s.api.Mutate(nil)
	time.Sleep(time.Hour)
	said("c", "")
	said("web", "")
	if s.data("c")["value"] != "ours" || s.spec("web")["replicas"] != float64(3) {
		t.Errorf("the site keeps everything, and has %v and %v", s.data("c"), s.spec("web")["replicas"])
	}
	s.desire(whole)
	s.settled()
	if r := s.report(whole.Key); r == nil || r.Altered != "" {
		t.Errorf("report %+v", r)
	}
}

// What a relay says that its own targets alter is reported to its parent.
func TestWhatIsAlteredBelowARelayIsReported(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newSite(t)
		c := configMap("default", "c", "ours")
		s.desire(c)
		s.settled()
		<-s.observer.Ready()
		says := func(text any, want string) {
			t.Helper()
			s.api.PutAs("center", "", "v1", "ConfigMap", "default", "c",
				map[string]any{"metadata": map[string]any{"annotations": map[string]any{"skerry.dev/altered": text}}})
			eventually(t, "it is reported", func() bool {
				r := s.report(c.Key)
				return r != nil && r.Altered == want && r.Error == nil && r.Applied != ""
			})
		}
		says("oslo: took off .data.value", "oslo: took off .data.value")
		says("", "")
	})
}

// A webhook of the site that takes no dry run only keeps the site from being asked again: what it altered stays
// said, nothing is refused, nothing is written again, and what changes is written.
func TestAWebhookWithoutDryRunsRefusesNothing(t *testing.T) {
	inBubble(t, aWebhookWithoutDryRunsRefusesNothing)
}

func aWebhookWithoutDryRunsRefusesNothing(t *testing.T) {
	s := newSite(t)
	asked := atomic.Int64{}
	s.api.Handle(func(w http.ResponseWriter, r *http.Request) bool {
		if !r.URL.Query().Has("dryRun") {
			return false
		}
		asked.Add(1)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"BadRequest","code":400,`+
			`"message":"admission webhook \"w.example.com\" does not support dry run"}`)
		return true
	})
	s.api.Mutate(func(plural string, o map[string]any) {
		if plural == "configmaps" {
			delete(o, "data")
		}
	})
	c := configMap("default", "c", "ours")
	s.desire(c)
	s.settled()
	said := func(when string) {
		t.Helper()
		if r := s.report(c.Key); r == nil || r.Error != nil || !strings.Contains(r.Altered, "took off .data") {
			t.Errorf("%s: report %+v", when, r)
		}
	}
	said("at first")
	time.Sleep(time.Hour) // of the bubble
	said("after an hour")
	if n := s.writesTo("c"); asked.Load() == 0 || n != 1 {
		t.Errorf("asked %d times, %d writes", asked.Load(), n)
	}
	s.api.Mutate(nil)
	s.desire(configMap("default", "c", "other"))
	s.settled()
	if r := s.report(c.Key); r == nil || r.Error != nil || r.Altered != "" || s.data("c")["value"] != "other" {
		t.Errorf("after a change: report %+v, data %v", r, s.data("c"))
	}
}
