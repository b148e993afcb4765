package tunneltest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"skerry.dev/skerry/tunnel"
)

// Pair makes a connection and returns its two ends. It must not outlive the test.
type Pair func(t *testing.T) (child, parent tunnel.Conn)

// Target is the name that the child of every Pair has proven.
const Target = "store-17"

// patience bounds every wait of the suite.
const patience = 10 * time.Second

// Run checks a transport.
func Run(t *testing.T, pair Pair) {
	for name, check := range map[string]func(*testing.T, tunnel.Conn, tunnel.Conn){
		"identity": identity, "echo": echo, "many streams": manyStreams, "half close": halfClose,
		"cancel": cancel, "deadline": deadline,
		"close tells why": closeTellsWhy, "close without a reason": closeWithoutReason,
		"context ends waits": contextEndsWaits, "session": session,
		"refusal": refusal, "renewal": renewal,
	} {
		t.Run(name, func(t *testing.T) {
			child, parent := pair(t)
			check(t, child, parent)
			for _, c := range []tunnel.Conn{child, parent} {
				c.Close(nil)
				wait(t, c.Done(), "the connection to end")
			}
		})
	}
}

func wait[T any](t *testing.T, c <-chan T, what string) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(patience):
		t.Fatalf("waited %s for %s", patience, what)
	}
	return v
}

// open opens a stream at one end and accepts it at the other.
func open(t *testing.T, from, to tunnel.Conn) (out, in tunnel.Stream) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	out, err := from.OpenStream(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := out.Write([]byte{'!'}); err != nil {
		t.Fatal(err)
	}
	if in, err = to.AcceptStream(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(in, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	return out, in
}

func identity(t *testing.T, child, parent tunnel.Conn) {
	if got := parent.Peer().Target; got != Target {
		t.Errorf("the child is %q, want %q", got, Target)
	}
	if got := child.Peer().Target; got != "" {
		t.Errorf("the parent is %q, want no target", got)
	}
	if child.Transport() == "" || child.Transport() != parent.Transport() {
		t.Errorf("transports %q and %q", child.Transport(), parent.Transport())
	}
	if child.Err() != nil || parent.Err() != nil {
		t.Errorf("errors of an open connection: %v, %v", child.Err(), parent.Err())
	}
}

func echo(t *testing.T, child, parent tunnel.Conn) {
	for _, ends := range [][2]tunnel.Conn{{child, parent}, {parent, child}} {
		out, in := open(t, ends[0], ends[1])
		want := make([]byte, 3<<20)
		for i := range want {
			want[i] = byte(rand.Uint32())
		}
		var wg sync.WaitGroup
		defer wg.Wait()
		wg.Go(func() {
			if _, err := io.Copy(in, in); err != nil {
				t.Error(err)
			}
			in.Close()
		})
		wg.Go(func() {
			if _, err := out.Write(want); err != nil {
				t.Error(err)
			}
			out.Close()
		})
		got, err := io.ReadAll(out)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d bytes back of %d, %v", len(got), len(want), err)
		}
	}
	if s := child.Stats(); s.SentBytes < 6<<20 || s.ReceivedBytes < 6<<20 {
		t.Errorf("counted %d bytes up and %d down, want at least 6 MiB each", s.SentBytes, s.ReceivedBytes)
	}
}

// A stream that nobody reads does not stop the others.
func manyStreams(t *testing.T, child, parent tunnel.Conn) {
	stuck, _ := open(t, child, parent)
	var wg sync.WaitGroup
	wg.Go(func() { stuck.Write(make([]byte, 16<<20)) })
	for range 20 {
		out, in := open(t, child, parent)
		wg.Go(func() {
			io.Copy(in, in)
			in.Close()
		})
		wg.Go(func() {
			out.Write([]byte("hello"))
			out.Close()
			if got, err := io.ReadAll(out); string(got) != "hello" || err != nil {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
	time.AfterFunc(100*time.Millisecond, stuck.Cancel)
	wg.Wait()
}

func halfClose(t *testing.T, child, parent tunnel.Conn) {
	out, in := open(t, child, parent)
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(in); len(got) != 0 || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := in.Write([]byte("still")); err != nil {
		t.Fatal(err)
	}
	in.Close()
	if got, err := io.ReadAll(out); string(got) != "still" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

func cancel(t *testing.T, child, parent tunnel.Conn) {
	out, in := open(t, child, parent)
	failed := make(chan error, 2)
	for _, s := range []tunnel.Stream{out, in} {
		go func() {
			_, err := s.Read(make([]byte, 1))
			failed <- err
		}()
	}
	out.Cancel()
	for range 2 {
		if err := wait(t, failed, "a read of a cancelled stream"); err == nil || err == io.EOF {
			t.Errorf("a read of a cancelled stream: %v", err)
		}
	}
	if _, err := out.Write([]byte("x")); err == nil {
		t.Error("a write to a cancelled stream went through")
	}
}

func deadline(t *testing.T, child, parent tunnel.Conn) {
	out, _ := open(t, child, parent)
	if err := out.SetDeadline(time.Now().Add(20 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("read past the deadline: %v", err)
	}
}

// closeTellsWhy: the other end is told, and so is who reads a stream there.
func closeTellsWhy(t *testing.T, child, parent tunnel.Conn) {
	out, in := open(t, child, parent)
	broken := make(chan error, 1)
	go func() {
		_, err := out.Read(make([]byte, 1))
		broken <- err
	}()
	for range 2 {
		if err := parent.Close(tunnel.ErrReplaced); err != nil {
			t.Error(err)
		}
	}
	wait(t, child.Done(), "the other end to notice")
	if !errors.Is(child.Err(), tunnel.ErrReplaced) {
		t.Errorf("the other end was told %v", child.Err())
	}
	if err := wait(t, broken, "a read at the other end"); !errors.Is(err, tunnel.ErrReplaced) {
		t.Errorf("a read at the other end was told %v", err)
	}
	if _, err := in.Read(make([]byte, 1)); err == nil {
		t.Error("a stream outlives its connection")
	}
	if _, err := child.AcceptStream(t.Context()); err == nil {
		t.Error("a stream was accepted from a closed connection")
	}
}

// closeWithoutReason: an end that closes for a reason of its own does not take it for the other's.
func closeWithoutReason(t *testing.T, child, parent tunnel.Conn) {
	const theirs = "closed by the other side"
	if err := parent.Close(errors.New("the disk is full")); err != nil {
		t.Error(err)
	}
	wait(t, parent.Done(), "the end that closed")
	if err := parent.Err(); err == nil || strings.Contains(err.Error(), theirs) {
		t.Errorf("the end that closed says %v", err)
	}
	wait(t, child.Done(), "the other end to notice")
	if err := child.Err(); err == nil || !strings.Contains(err.Error(), theirs) {
		t.Errorf("the other end says %v", err)
	}
}

func contextEndsWaits(t *testing.T, child, parent tunnel.Conn) {
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() {
		_, err := parent.AcceptStream(ctx)
		failed <- err
	}()
	cancel()
	if err := wait(t, failed, "AcceptStream"); !errors.Is(err, context.Canceled) {
		t.Errorf("AcceptStream: %v", err)
	}
	if child.Err() != nil {
		t.Errorf("the connection ended: %v", child.Err())
	}
}
