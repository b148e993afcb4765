package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/agent/targettest"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/compress"
	"skerry.dev/skerry/store/storetest"
	"skerry.dev/skerry/store/storetest/leak"
	"skerry.dev/skerry/tunnel"
)

func TestMain(m *testing.M) {
	if os.Getenv(killedEnv) != "" {
		beKilled()
	}
	// Tests with a center wait for it and for timers, and take little of a processor.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	leak.Main(m)
}

// site is an agent without its uplink: a test commits to the desired copy in the parent's place.
type site struct {
	*agent
	t        testing.TB
	api      *targettest.Server
	access   target.Access
	center   store.Incarnation
	revision int64
	share    int  // MaxDeleteShare
	late     bool // what is observed is begun after everything was applied
	stop     func()
	allow    *tunnel.Allow // what the site allows; nil for a target that holds the spaces apart itself, as a relay's does

	name, spaces string // Name and SpacesNamespace
	impersonate  bool
}

// furnished are the namespaces that were desired, as a parent sends them before what is in them.
type furnished map[store.Key]bool

// add puts the Namespaces that are missing before entries.
func (f furnished) add(entries []store.Entry) []store.Entry {
	for _, e := range entries {
		if e.Key.Resource == "namespaces" {
			f[e.Key] = true
		}
	}
	var missing []store.Entry
	for _, e := range entries {
		k := store.Key{Space: e.Key.Space, Resource: "namespaces", Name: e.Key.Namespace}
		if k.Name == "" || f[k] || e.Tombstone {
			continue
		}
		f[k] = true
		missing = append(missing, of(k.Space, namespace(k.Name)))
	}
	return append(missing, entries...)
}

// inBubble runs a test in simulated time.
func inBubble(t *testing.T, run func(t *testing.T)) {
	t.Helper()
	compress.Default() // outside of the bubble
	compress.Thorough().Encode(nil, []byte("{}"))
	synctest.Test(t, run)
}

func newSite(t testing.TB) *site {
	s := &site{t: t, api: targettest.NewInMemory(t), center: store.NewIncarnation(), share: 100}
	s.access = target.Cluster(s.api.Config())
	s.start(t.TempDir())
	t.Cleanup(func() { s.stop() })
	return s
}

// start opens the data directory and runs everything but the uplink.
func (s *site) start(dir string) {
	s.t.Helper()
	log := discard()
	if os.Getenv("SKERRY_TEST_LOG") != "" {
		log = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	config := Config{
		DataDir:         dir,
		Target:          s.access,
		MaxDeleteShare:  s.share,
		Name:            s.name,
		Impersonate:     s.impersonate,
		SpacesNamespace: s.spaces,
		Log:             log,
	}
	if s.allow != nil {
		config.Allow = *s.allow
	}
	a, err := open(config)
	if err != nil {
		s.t.Fatal(err)
	}
	if s.allow == nil {
		a.applier.Gate.Rules = nil
	}
	s.agent = a
	ctx, cancel := context.WithCancel(context.Background())
	var parts sync.WaitGroup
	parts.Go(func() { ignore(a.applier.Run(ctx)) })
	if s.late {
		<-a.applier.Compared()
		eventually(s.t, "everything is applied", func() bool { return a.applier.Pending() == 0 })
	}
	parts.Go(func() { ignore(a.observer.Run(ctx)) })
	parts.Go(func() { ignore(a.leased.run(ctx)) })
	parts.Go(func() { a.leased.events.Run(ctx) })
	parts.Go(func() { ignore(a.followTarget(ctx)) })
	parts.Go(func() { ignore(a.identify(ctx)) })
	books, closeBooks := context.WithCancel(context.Background())
	var ledger sync.WaitGroup
	ledger.Go(func() { ignore(a.inventory.Run(books)) })
	s.stop = sync.OnceFunc(func() {
		cancel()
		parts.Wait()
		closeBooks()
		ledger.Wait()
		a.clients.CloseIdle()
		if err := a.file.Close(); err != nil {
			s.t.Error(err)
		}
	})
}

func ignore(error) {}

// restart stops and starts again from the file. After a crash the file is as it was at that moment,
// without what stopping writes.
func (s *site) restart(crash bool) {
	s.t.Helper()
	dir := s.DataDir
	if crash {
		copied := s.t.TempDir()
		for _, name := range []string{"agent.db", "seal.keys"} {
			data, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				s.t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(copied, name), data, 0o600); err != nil {
				s.t.Fatal(err)
			}
		}
		dir = copied
	}
	s.stop()
	s.start(dir)
}

// desire commits objects as one decision. An object without kind is a tombstone.
func (s *site) desire(entries ...store.Entry) {
	s.t.Helper()
	s.revision++
	for i := range entries {
		entries[i].Revision = s.revision
	}
	err := s.guard.Commit(
		context.Background(),
		store.Batch{Entries: entries, Through: store.Position{Incarnation: s.center, Revision: s.revision}},
	)
	if err != nil {
		s.t.Fatal(err)
	}
}

const space = "shop"

// live is a desired entry of generation 1 whose source has the UID "source-<plural>-<name>".
func live(group, plural, apiVersion, kind, namespace, name string, more map[string]any) store.Entry {
	return liveAt(1, group, plural, apiVersion, kind, namespace, name, more)
}

func liveAt(
	generation int64,
	group, plural, apiVersion, kind, namespace, name string,
	more map[string]any,
) store.Entry {
	metadata := map[string]any{"name": name, "annotations": map[string]any{
		target.AnnotationOrigin: space + "/", target.AnnotationOriginUID: "source-" + plural + "-" + name,
	}}
	if namespace != "" {
		metadata["namespace"] = namespace
	}
	object := map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": metadata}
	for k, v := range more {
		object[k] = v
	}
	body, err := json.Marshal(object)
	if err != nil {
		panic(err)
	}
	return store.Entry{
		Key:  store.Key{Space: space, Group: group, Resource: plural, Namespace: namespace, Name: name},
		Hash: store.HashBody(generation, body), Generation: generation, Body: body,
	}
}

// of is an entry that comes from another space.
func of(space string, e store.Entry) store.Entry {
	e.Key.Space = space
	e.Body = bytes.Replace(e.Body, []byte(`"skerry.dev/origin":"shop/"`), []byte(`"skerry.dev/origin":"`+space+`/"`), 1)
	e.Hash = store.HashBody(e.Generation, e.Body)
	return e
}

func namespace(name string) store.Entry {
	return live("", "namespaces", "v1", "Namespace", "", name, nil)
}

func configMap(ns, name, value string) store.Entry {
	return live("", "configmaps", "v1", "ConfigMap", ns, name, map[string]any{"data": map[string]any{"value": value}})
}

func deployment(generation int64, ns, name string, replicas int) store.Entry {
	return liveAt(
		generation,
		"apps",
		"deployments",
		"apps/v1",
		"Deployment",
		ns,
		name,
		map[string]any{"spec": map[string]any{"replicas": replicas}},
	)
}

func gone(e store.Entry) store.Entry { return store.Entry{Key: e.Key, Tombstone: true} }

// report returns what the feed says of a key, nil when it says nothing.
func (s *site) report(k store.Key) *store.Report {
	s.t.Helper()
	if e, ok := s.observer.Feed().Get(k); !ok || e.Tombstone {
		return nil
	}
	body, _, err := s.observer.Feed().Body(context.Background(), k)
	if errors.Is(err, store.ErrGone) {
		return nil
	}
	if err != nil {
		s.t.Fatal(err)
	}
	r := &store.Report{}
	if err := json.Unmarshal(body, r); err != nil {
		s.t.Fatal(err)
	}
	return r
}

// eventually waits for a condition.
func eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	storetest.Eventually(t, what, condition)
}

// settled waits until every desired object is on the target and written down.
func (s *site) settled() {
	s.t.Helper()
	eventually(s.t, "nothing pending", func() bool { return s.applier.Pending() == 0 && s.observer.Waiting() == 0 })
	if err := s.inventory.Flush(); err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) exists(e store.Entry) bool {
	return s.api.Object(e.Key.Group, e.Key.Resource, e.Key.Namespace, e.Key.Name) != nil
}

func (s *site) writesTo(name string) (n int) {
	for _, w := range s.api.Writes() {
		if filepath.Base(w.Path) == name {
			n++
		}
	}
	return n
}

func dump(v any) string { return fmt.Sprintf("%+v", v) }
