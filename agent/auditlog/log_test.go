package auditlog

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/agent/target"
)

func TestSplit(t *testing.T) {
	for path, want := range map[string]string{
		"/apis/apps/v1/namespaces/shop/deployments/web":         "apps/v1/deployments shop web",
		"/api/v1/namespaces/shop/configmaps":                    "v1/configmaps shop ",
		"/api/v1/namespaces/shop":                               "v1/namespaces  shop",
		"/apis/rbac.authorization.k8s.io/v1/clusterroles/a%3Ab": "rbac.authorization.k8s.io/v1/clusterroles  a:b",
		"/api": "/api  ",
		"/apis/stable.example.com/v1/namespaces/shop/crontabs/x": "stable.example.com/v1/crontabs shop x",
	} {
		resource, ns, name := split(path)
		if got := fmt.Sprint(resource, " ", ns, " ", name); got != want {
			t.Errorf("%s: %q", path, got)
		}
	}
}

func entry(i int) target.Written {
	return target.Written{
		At:    time.Unix(0, 0),
		Verb:  "apply",
		Path:  fmt.Sprintf("/api/v1/namespaces/shop/configmaps/c-%d", i),
		Space: "shop",
		Code:  200,
	}
}

// TestBuffered: lines are written together, after a pause or at the end, and each as a whole.
func TestBuffered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "audit.log")
		l := New(path, Options{})
		ctx, cancel := context.WithCancel(t.Context())
		var done sync.WaitGroup
		done.Go(func() { _ = l.Run(ctx) })
		l.Note(entry(1))
		synctest.Wait()
		if _, err := os.Stat(path); err == nil {
			t.Error("one line was written at once")
		}
		time.Sleep(pause)
		synctest.Wait()
		l.Note(entry(2))
		cancel()
		done.Wait()
		data, err := os.ReadFile(path)
		if err != nil || bytes.Count(data, []byte("\n")) != 2 {
			t.Fatalf("%s, %v", data, err)
		}
		want := `{"time":"1970-01-01T00:00:00Z","verb":"apply","resource":"v1/configmaps",` +
			`"namespace":"shop","name":"c-1","space":"shop","code":200}`
		if got, _, _ := strings.Cut(string(data), "\n"); got != want {
			t.Error(got)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", info.Mode(), err)
		}
	})
}

// TestBounded: neither the disk nor the memory grows without end, and what was lost is told.
func TestBounded(t *testing.T) {
	dir := t.TempDir()
	l := New(filepath.Join(dir, "audit.log"), Options{Size: 4 << 10})
	for i := range 400 {
		l.Note(entry(i))
		if i%10 == 0 {
			l.flush()
		}
	}
	l.flush()
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 1+oldFiles {
		t.Errorf("%v, %v", files, err)
	}
	for _, f := range files {
		if info, err := f.Info(); err != nil || info.Size() > 4<<10 {
			t.Errorf("%s: %d bytes, %v", f.Name(), info.Size(), err)
		}
	}
	for i := range 2000 {
		l.Note(entry(i))
	}
	if len(l.wait) > most || l.lost == 0 {
		t.Errorf("%d bytes wait, %d lines are lost", len(l.wait), l.lost)
	}
	lost := l.lost
	l.flush()
	l.Note(entry(0))
	var told line
	if err := json.Unmarshal(l.wait, &told); err != nil || told.Lost != lost {
		t.Errorf("%+v, %v, want %d lost", told, err, lost)
	}
}

// TestFullDisk: a log that cannot be written stops nobody, and goes on when it can.
func TestFullDisk(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "later")
	l := New(filepath.Join(dir, "audit.log"), Options{})
	l.Note(entry(1))
	l.flush()
	if !l.failing {
		t.Error("a log without a directory was written")
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	l.Note(entry(2))
	l.flush()
	if l.failing {
		t.Error("it does not go on")
	}
}

func BenchmarkNote(b *testing.B) {
	l := New(filepath.Join(b.TempDir(), "audit.log"), Options{})
	b.ReportAllocs()
	for b.Loop() {
		l.Note(entry(1))
		if len(l.wait) >= batch {
			l.flush()
		}
	}
}
