package goroutines

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"skerry.dev/skerry/store/storetest"
	"skerry.dev/skerry/store/storetest/leak"
)

// serve runs Serve until the test ends it.
func serve(t *testing.T, dir string) (end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Serve(ctx, dir) }()
	for _, err := os.Stat(filepath.Join(dir, File)); err != nil; _, err = os.Stat(filepath.Join(dir, File)) {
		select {
		case err := <-ended:
			t.Fatal(err)
		case <-time.After(time.Millisecond):
		}
	}
	return sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// waitsForAnything is a name to look for.
func waitsForAnything(secret string, c chan struct{}) {
	<-c
	_ = strings.ToUpper(secret)
}

func TestStacks(t *testing.T) {
	defer leak.None(t, goleak.IgnoreCurrent())
	dir := t.TempDir()
	if _, err := Read(t.Context(), dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("where no agent has run: %v", err)
	}
	released, gone := make(chan struct{}), make(chan struct{})
	go func() { defer close(gone); waitsForAnything("canary-secret", released) }()
	defer func() { close(released); <-gone }()
	end := serve(t, dir)
	defer end()
	if info, err := os.Stat(filepath.Join(dir, File)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the socket is %v, %v", info.Mode(), err)
	}
	for range 2 {
		text, err := Read(t.Context(), dir)
		if err != nil || !bytes.Contains(text, []byte("goroutines.waitsForAnything")) ||
			bytes.Contains(text, []byte("canary-secret")) {
			t.Fatalf("%v: %s", err, text)
		}
	}
	end()
	if _, err := Read(t.Context(), dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after the end: %v", err)
	}
}

// What an agent that was killed has left is replaced.
func TestLeftSocket(t *testing.T) {
	dir := t.TempDir()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, File)})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	l.Close()
	if _, err := Read(t.Context(), dir); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("of a killed agent: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Serve(ctx, dir) }()
	storetest.Eventually(t, "an answer", func() bool { _, err := Read(t.Context(), dir); return err == nil })
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestManyGoroutines(t *testing.T) {
	dir := t.TempDir()
	defer serve(t, dir)()
	released := make(chan struct{})
	var many sync.WaitGroup
	for range 20_000 {
		many.Go(func() { waitsForAnything("", released) })
	}
	text, err := Read(t.Context(), dir)
	if err != nil || len(text) != maxBytes+len(truncated) || !bytes.HasSuffix(text, []byte(truncated)) {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	close(released)
	many.Wait()
}

// A reader that does not read keeps nobody else from it for long, and not the end.
func TestReaderThatSleeps(t *testing.T) {
	dir := t.TempDir()
	end := serve(t, dir)
	released := make(chan struct{})
	var many sync.WaitGroup
	for range 5_000 { // more than a socket holds
		many.Go(func() { waitsForAnything("", released) })
	}
	conn, err := net.Dial("unix", filepath.Join(dir, File))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	end()
	close(released)
	many.Wait()
}

func TestLongPath(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("d", 100))
	if err := Serve(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "longer") {
		t.Errorf("%v", err)
	}
}
