package mover

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"skerry.dev/skerry/store/storetest/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// pair is a source and its copy.
type pair struct {
	t        testing.TB
	from, to string
	sender   *Sender
	copied   *os.Root
}

func newPair(t testing.TB) *pair {
	p := &pair{t: t, from: t.TempDir(), to: t.TempDir()}
	source, err := os.OpenRoot(p.from)
	must(t, err)
	p.copied, err = os.OpenRoot(p.to)
	must(t, err)
	t.Cleanup(func() { source.Close(); p.copied.Close() })
	p.sender = NewSender(source)
	return p
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// over makes a round over a stream that wrap may break, and returns what both sides said.
func (p *pair) over(verify bool, wrap func(io.ReadWriteCloser) io.ReadWriteCloser) (Report, error, error) {
	return p.between(p.sender, verify, wrap, func(rw io.ReadWriteCloser) error {
		return Receive(p.t.Context(), p.copied, rw)
	})
}

// between makes a round of a sender with who receives it.
func (p *pair) between(s *Sender, verify bool, wrap func(io.ReadWriteCloser) io.ReadWriteCloser,
	receives func(io.ReadWriteCloser) error) (Report, error, error) {
	a, b := net.Pipe() // without any buffer, so that whoever waits wrongly waits for ever
	far := make(chan error, 1)
	go func() { far <- receives(b); b.Close() }()
	round := s.Round
	if verify {
		round = s.Verify
	}
	report, err := round(p.t.Context(), wrap(a))
	a.Close()
	return report, err, <-far
}

func whole(rw io.ReadWriteCloser) io.ReadWriteCloser { return rw }

// round makes a round that must succeed.
func (p *pair) round() Report {
	p.t.Helper()
	report, err, far := p.over(false, whole)
	if err != nil || far != nil {
		p.t.Fatalf("the round: %v; the receiver: %v", err, far)
	}
	return report
}

// same verifies, and compares both trees by other means.
func (p *pair) same() Report {
	p.t.Helper()
	report, err, far := p.over(true, whole)
	if err != nil || far != nil {
		p.t.Fatalf("the check: %v; the receiver: %v", err, far)
	}
	if a, b := listing(p.t, p.from), listing(p.t, p.to); !slices.Equal(a, b) {
		p.t.Fatalf("the source has\n%s\nthe copy\n%s", strings.Join(a, "\n"), strings.Join(b, "\n"))
	}
	return report
}

// TestCopyIsLikeItsSource changes a tree at random, again and again, and copies it each time.
func TestCopyIsLikeItsSource(t *testing.T) {
	for seed := range uint64(6) {
		p := newPair(t)
		w := newWorld(t, p.from, seed)
		for range 12 {
			for range 1 + w.r.IntN(25) {
				w.change()
			}
			if w.r.IntN(2) == 0 {
				p.round()
			}
			p.same()
		}
	}
}

// TestOnlyWhatDiffersIsSent counts bytes.
func TestOnlyWhatDiffersIsSent(t *testing.T) {
	p := newPair(t)
	w := newWorld(t, p.from, 1)
	big := make([]byte, 40<<20) // more than a segment
	for i := range big {
		big[i] = byte(w.r.Uint32())
	}
	path := filepath.Join(p.from, "big")
	must(t, os.WriteFile(path, big, 0o600))
	if r := p.round(); r.Sent != int64(len(big)) || r.Bytes != r.Sent || r.Files != 1 || r.Dirs != 1 {
		t.Errorf("the first round: %+v", r)
	}
	if r := p.round(); r.Sent != 0 {
		t.Errorf("nothing has changed: %+v", r)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	must(t, err)
	_, err = f.WriteAt([]byte("changed"), 33<<20)
	must(t, errors.Join(err, f.Close()))
	if r := p.same(); r.Sent != blockSize {
		t.Errorf("one block has changed: %+v", r)
	}
	must(t, os.Rename(path, filepath.Join(p.from, "moved")))
	if r := p.same(); r.Sent != int64(len(big)) {
		t.Errorf("a file has another name: %+v", r)
	}
}

// TestHolesStayHoles copies a file of 1 TiB that holds two blocks.
func TestHolesStayHoles(t *testing.T) {
	p := newPair(t)
	path := filepath.Join(p.from, "sparse")
	f, err := os.Create(path)
	must(t, err)
	const size = 64 << 30
	must(t, f.Truncate(size))
	for _, at := range []int64{5 << 20, size - 100} {
		_, err = f.WriteAt([]byte("data"), at)
		must(t, err)
	}
	must(t, f.Close())
	if r := p.round(); r.Sent > 3*blockSize || r.Bytes != size {
		t.Errorf("%+v", r)
	}
	var st syscall.Stat_t
	must(t, syscall.Stat(filepath.Join(p.to, "sparse"), &st))
	if st.Size != size || st.Blocks*512 > 1<<20 {
		t.Errorf("the copy has %d bytes in %d blocks", st.Size, st.Blocks)
	}
	// What becomes zeros does not stay.
	must(t, os.Truncate(path, 1<<20))
	must(t, os.Truncate(path, 8<<20))
	p.same()
}

// TestUnchangedFilesAreNotRead lets the sender remember what it has sent.
func TestUnchangedFilesAreNotRead(t *testing.T) {
	p := newPair(t)
	path := filepath.Join(p.from, "old")
	must(t, os.WriteFile(path, []byte("one"), 0o600))
	past := time.Now().Add(-time.Hour)
	must(t, os.Chtimes(path, past, past))
	p.round()
	if len(p.sender.files) != 0 {
		t.Error("a file whose status changed a moment ago is trusted")
	}
	p.sender.files["old"] = func() stamp {
		info, err := os.Lstat(path)
		must(t, err)
		s := stampOf(info)
		c := newContent()
		f, err := os.Open(path)
		must(t, err)
		defer f.Close()
		seg, err := readSegment(f, 3, 0, make([]byte, blockSize))
		must(t, err)
		c.add(seg)
		s.sum = c.sum()
		return s
	}()
	// The copy is damaged behind everybody's back. A round does not look; the check does, and the next round mends.
	damaged := filepath.Join(p.to, "old")
	must(t, os.WriteFile(damaged, []byte("two"), 0o600))
	p.round()
	if b, _ := os.ReadFile(damaged); string(b) != "two" {
		t.Error("the file was compared")
	}
	if _, err, _ := p.over(true, whole); !errors.Is(err, ErrDiffers) {
		t.Errorf("the check of a damaged copy: %v", err)
	}
	p.same()

	info, err := os.Lstat(path)
	must(t, err)
	p.sender.files["old"] = stampOf(info)
	must(t, os.Remove(damaged))
	if _, err, _ := p.over(false, whole); !errors.Is(err, ErrStale) {
		t.Errorf("a copy that lacks a file: %v", err)
	}
	p.same()
}

// cutting is a stream that breaks after some bytes of the sender.
type cutting struct {
	io.ReadWriteCloser
	left int
}

func (c *cutting) Write(b []byte) (int, error) {
	if len(b) > c.left {
		n, _ := c.ReadWriteCloser.Write(b[:c.left])
		c.left = 0
		c.Close()
		return n, io.ErrClosedPipe
	}
	c.left -= len(b)
	return c.ReadWriteCloser.Write(b)
}

// TestCutsAreResumed breaks the stream 20 times. Little is sent twice.
func TestCutsAreResumed(t *testing.T) {
	p := newPair(t)
	w := newWorld(t, p.from, 3)
	total := 0
	for i := range 60 {
		b := make([]byte, w.r.IntN(1<<20))
		for j := range b {
			b[j] = byte(w.r.Uint32())
		}
		total += len(b)
		must(t, os.WriteFile(filepath.Join(p.from, fmt.Sprintf("%02d", i)), b, 0o600))
	}
	sent, cuts := int64(0), 0
	for ; cuts < 20; cuts++ {
		r, err, far := p.over(false, func(rw io.ReadWriteCloser) io.ReadWriteCloser {
			return &cutting{rw, total/21 + 3000}
		})
		if err == nil || far == nil {
			t.Fatalf("cut %d: %v, %v", cuts, err, far)
		}
		sent += r.Sent
	}
	sent += p.same().Sent
	if twice := sent - int64(total); twice > int64(total)/20+20*int64(blockSize) {
		t.Errorf("%d of %d bytes were sent twice in %d cuts", twice, total, cuts)
	}
}

// TestWritersWhileItIsCopied copies a tree that others write to, and checks it once they have stopped.
func TestWritersWhileItIsCopied(t *testing.T) {
	p := newPair(t)
	stop, stopped := make(chan struct{}), make(chan struct{})
	w := newWorld(t, p.from, 9)
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				w.change()
			}
		}
	}()
	for range 15 {
		p.round()
	}
	close(stop)
	<-stopped
	p.same()
}

// TestWhatIsNoFile is skipped and named.
func TestWhatIsNoFile(t *testing.T) {
	p := newPair(t)
	must(t, syscall.Mkfifo(filepath.Join(p.from, "pipe"), 0o600))
	must(t, os.Mkdir(filepath.Join(p.from, "lost+found"), 0o700))
	must(t, os.WriteFile(filepath.Join(p.from, "lost+found", "x"), []byte("x"), 0o600))
	must(t, os.Mkdir(filepath.Join(p.to, "lost+found"), 0o700))
	must(t, os.WriteFile(filepath.Join(p.to, "lost+found", "own"), []byte("x"), 0o600))
	must(t, os.WriteFile(filepath.Join(p.to, "before"), []byte("x"), 0o600))
	r := p.round()
	if r.Skipped.Count != 1 || !slices.Equal(r.Skipped.First, []string{"pipe"}) || r.Files != 0 {
		t.Errorf("%+v", r)
	}
	if _, err := os.Lstat(filepath.Join(p.to, "lost+found", "own")); err != nil {
		t.Error("lost+found is not the volume's: ", err)
	}
	for _, name := range []string{"pipe", "before", "lost+found/x"} {
		if _, err := os.Lstat(filepath.Join(p.to, name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the copy has %s: %v", name, err)
		}
	}
}

// TestCancelled ends both sides.
func TestCancelled(t *testing.T) {
	p := newPair(t)
	a, b := net.Pipe()
	defer b.Close()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := p.sender.Round(ctx, a)
		ended <- err
	}()
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the sender: %v", err)
	}
	a, b = net.Pipe()
	defer a.Close()
	ctx, cancel = context.WithCancel(t.Context())
	go func() { ended <- Receive(ctx, p.copied, b) }()
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the receiver: %v", err)
	}
}
