package agent

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"skerry.dev/skerry/agent/inventory"
	"skerry.dev/skerry/agent/recovery"
	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/agent/targettest"
	"skerry.dev/skerry/store"
)

const sweptSite = "a-site"

func sweeping(api *targettest.Server, found func(store.Key, inventory.Record) error) recovery.Config {
	clients := target.NewClients(target.Cluster(api.Config()))
	clients.SetSite(sweptSite)
	return recovery.Config{
		Clients: clients,
		Sites:   []string{sweptSite},
		Found:   found,
		Log:     slog.New(slog.DiscardHandler),
	}
}

// applied makes an object as the agent of the site does.
func applied(t *testing.T, cfg recovery.Config, r target.Resource, kind, name string) {
	t.Helper()
	client, err := cfg.Clients.For(target.RootSpace)
	if err != nil {
		t.Fatal(err)
	}
	body := fmt.Appendf(
		nil,
		`{"apiVersion":%q,"kind":%q,"metadata":{"name":%q,"namespace":"default","annotations":{%q:"shop/",%q:"u"}}}`,
		strings.Trim(r.Group+"/"+r.Version, "/"),
		kind,
		name,
		target.AnnotationOrigin,
		target.AnnotationOriginUID,
	)
	if _, _, err := client.Apply(t.Context(), r, "default", name, body, target.Applying{}); err != nil {
		t.Fatal(err)
	}
}

// TestSweepsListsWaitTogether: a server may let each list wait for its cache, so a sweep that asked
// for one kind after another would wait for the sum.
func TestSweepsListsWaitTogether(t *testing.T) { inBubble(t, sweepsListsWaitTogether) }

func sweepsListsWaitTogether(t *testing.T) {
	api := targettest.NewInMemory(t)
	found := map[store.Key]bool{}
	cfg := sweeping(api, func(k store.Key, _ inventory.Record) error {
		found[k] = true
		return nil
	})
	applied(t, cfg, target.Resource{Version: "v1", Plural: "configmaps"}, "ConfigMap", "a")
	applied(t, cfg, target.Resource{Group: "apps", Version: "v1", Plural: "deployments"}, "Deployment", "b")
	api.Pause(true)
	done := make(chan error, 1)
	go func() { done <- recovery.Run(t.Context(), cfg) }()
	paths := []string{
		"/api/v1/configmaps",
		"/api/v1/secrets",
		"/apis/apps/v1/deployments",
		"/apis/rbac.authorization.k8s.io/v1/clusterroles",
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		waiting := 0
		for _, p := range paths {
			waiting += api.Waited(p)
		}
		if waiting == len(paths) {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%d of %d lists wait at the same time", waiting, len(paths))
		}
	}
	api.Pause(false)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if len(found) != 2 {
		t.Errorf("found %v, want a ConfigMap and a Deployment", found)
	}
}

// TestSweepEndsWithTheFirstRefusal: nothing more is handed over after the first that was not taken.
func TestSweepEndsWithTheFirstRefusal(t *testing.T) { inBubble(t, sweepEndsWithTheFirstRefusal) }

func sweepEndsWithTheFirstRefusal(t *testing.T) {
	api := targettest.NewInMemory(t)
	full, calls := errors.New("the disk is full"), 0
	cfg := sweeping(api, func(store.Key, inventory.Record) error {
		calls++
		return full
	})
	for i := range 5 {
		applied(t, cfg, target.Resource{Version: "v1", Plural: "configmaps"}, "ConfigMap", fmt.Sprint("c", i))
		applied(t, cfg, target.Resource{Version: "v1", Plural: "secrets"}, "Secret", fmt.Sprint("s", i))
	}
	err := recovery.Run(t.Context(), cfg)
	if !errors.Is(err, full) || calls > 2 {
		t.Errorf("%v after %d calls, want %v after one for each list that goes on", err, calls, full)
	}
}
