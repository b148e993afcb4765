package server_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/server/apiserver"
)

// TestUnusedCustomResources: what serves a space's custom resources stops when nobody has used it
// for a while, not while somebody watches, and is there again for the next who asks.
func TestUnusedCustomResources(t *testing.T) {
	c := start(t, t.TempDir(), newAuthority(t), nil, func(cfg *apiserver.Config) { cfg.CustomIdle = time.Second })
	c.createSpace("one", "Retain")
	d := dyn(t, c.admin("one"))
	ctx := t.Context()
	def, gvr := gadgets("g.example.com")
	_, err := d.Resource(crdsGVR).Create(ctx, def, metav1.CreateOptions{})
	must(t, err)
	_, err = d.Resource(gvr).Create(ctx, object("g.example.com/v1", "Gadget", "", "x"), metav1.CreateOptions{})
	must(t, err)
	within(t, time.Minute, "its end", func() bool { return c.api.CustomServers() == 0 })

	watch, err := d.Resource(gvr).Watch(ctx, metav1.ListOptions{ResourceVersion: "0"})
	must(t, err)
	if e := <-watch.ResultChan(); e.Type != "ADDED" {
		t.Fatalf("%+v", e)
	}
	time.Sleep(2 * time.Second) // longer than an unused one is kept
	if n := c.api.CustomServers(); n != 1 {
		t.Errorf("%d servers while somebody watches", n)
	}
	_, err = d.Resource(gvr).Create(ctx, object("g.example.com/v1", "Gadget", "", "y"), metav1.CreateOptions{})
	must(t, err)
	if e := <-watch.ResultChan(); e.Type != "ADDED" {
		t.Fatalf("%+v", e)
	}
	watch.Stop()
	within(t, time.Minute, "its end", func() bool { return c.api.CustomServers() == 0 })

	must(t, d.Resource(crdsGVR).Delete(ctx, def.GetName(), metav1.DeleteOptions{}))
	within(t, time.Minute, "the end of the definition and of what it defined", func() bool {
		_, err := d.Resource(crdsGVR).Get(ctx, def.GetName(), metav1.GetOptions{})
		return err != nil
	})
}
