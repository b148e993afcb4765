package agent

import (
	"testing"
	"time"

	"skerry.dev/skerry/store"
)

// What must not run twice is gone when its Pods are: the parent begins it elsewhere then.
func TestWhatMustNotRunTwiceGoesWithItsPods(t *testing.T) {
	inBubble(t, whatMustNotRunTwiceGoesWithItsPods)
}

func whatMustNotRunTwiceGoesWithItsPods(t *testing.T) {
	s := newSite(t)
	job := store.Entry{Key: store.Key{Space: space, Group: "batch", Resource: "jobs", Namespace: "default", Name: "load"}}
	job.Body = []byte(`{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"load","namespace":"default",` +
		`"annotations":{"skerry.dev/origin":"` + space + `/","skerry.dev/origin-uid":"job"}},"spec":{"template":{}}}`)
	job.Generation, job.Hash = 1, store.HashBody(1, job.Body)
	web := deployment(1, "default", "web", 1)
	s.desire(job, web)
	s.settled()
	<-s.observer.Ready()
	for name, owner := range map[string]string{"load-0": s.uid("batch", "jobs", "default", "load"),
		"web-0": s.uid("apps", "deployments", "default", "web")} {
		pod := owned(owner)
		metadata(pod)["finalizers"] = []any{"example.com/still-ending"}
		s.api.Put("v1", "Pod", "default", name, pod)
	}
	s.desire(gone(job), gone(web))
	eventually(t, "what may run twice is gone", func() bool { return !s.exists(web) && s.report(web.Key) == nil })
	eventually(t, "the Job is going", func() bool {
		o := s.api.Object("batch", "jobs", "default", "load")
		return o != nil && metadata(o)["deletionTimestamp"] != nil
	})
	if r := s.report(job.Key); r == nil || r.Error != nil {
		t.Errorf("a Job whose Pod is still ending is reported as %+v", r)
	}
	s.api.Remove("", "pods", "default", "load-0")
	eventually(t, "the Job is gone", func() bool { return !s.exists(job) && s.report(job.Key) == nil })
	s.settled()
}

// A NetworkPolicy that leaves with the Pods that it selects goes when they have gone. One that selects others,
// and one that leaves alone, waits for nothing.
func TestANetworkPolicyGoesAfterItsPods(t *testing.T) { inBubble(t, aNetworkPolicyGoesAfterItsPods) }

func aNetworkPolicyGoesAfterItsPods(t *testing.T) {
	s := newSite(t)
	type m = map[string]any
	policy := func(name string, selector m) store.Entry {
		return liveAt(1, "networking.k8s.io", "networkpolicies", "networking.k8s.io/v1", "NetworkPolicy", "default", name,
			m{"spec": m{"podSelector": selector}})
	}
	workload := func(name string) store.Entry {
		return liveAt(1, "apps", "deployments", "apps/v1", "Deployment", "default", name,
			m{"spec": m{"template": m{"metadata": m{"labels": m{"app": name}}}}})
	}
	web, stays := workload("web"), workload("stays")
	of := func(app string) m { return m{"matchLabels": m{"app": app}} }
	all, own := policy("all", m{}), policy("own", of("web"))
	others, alone := policy("others", of("stays")), policy("alone", of("web"))
	s.desire(web, stays, all, own, others, alone)
	s.settled()
	<-s.observer.Ready()
	pod := owned(s.uid("apps", "deployments", "default", "web"))
	metadata(pod)["finalizers"] = []any{"example.com/still-ending"}
	s.api.Put("v1", "Pod", "default", "web-0", pod)
	s.desire(gone(alone))
	eventually(t, "one that leaves alone is gone", func() bool { return !s.exists(alone) })
	s.desire(gone(all), gone(own), gone(others), gone(web))
	eventually(t, "one of others is gone", func() bool { return !s.exists(others) })
	eventually(t, "the workload is going", func() bool {
		o := s.api.Object("apps", "deployments", "default", "web")
		return o != nil && metadata(o)["deletionTimestamp"] != nil
	})
	time.Sleep(200 * time.Millisecond)
	if !s.exists(all) || !s.exists(own) {
		t.Errorf("a Pod is ending, and of its policies there is all: %t, own: %t", s.exists(all), s.exists(own))
	}
	s.api.Remove("", "pods", "default", "web-0")
	began := time.Now()
	eventually(t, "all is gone", func() bool { return !s.exists(web) && !s.exists(all) && !s.exists(own) })
	if took := time.Since(began); took > 1500*time.Millisecond {
		t.Errorf("the policies were deleted after %s", took)
	}
	s.settled()
}
