package spool

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// source is a connection with output of its own. It counts what was read, and ends with err.
type source struct {
	mu     sync.Mutex
	output *bytes.Reader
	err    error
	input  bytes.Buffer
	ended  chan struct{} // closed when all was read
	closed chan struct{}
	once   sync.Once
}

func newSource(size int, err error) (*source, []byte) {
	output := make([]byte, size)
	r := rand.NewChaCha8([32]byte{1})
	_, _ = r.Read(output)
	return &source{output: bytes.NewReader(output), err: err, ended: make(chan struct{}), closed: make(chan struct{})}, output
}

func (s *source) Read(p []byte) (int, error) {
	s.mu.Lock()
	n, err := s.output.Read(p)
	s.mu.Unlock()
	if err == nil {
		return n, nil
	}
	s.once.Do(func() { close(s.ended) })
	if s.err == nil {
		<-s.closed // it stays open
		return 0, os.ErrClosed
	}
	return n, s.err
}

func (s *source) left() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.output.Len()
}

func (s *source) Write(p []byte) (int, error) { return s.input.Write(p) }

func (s *source) Close() error {
	select {
	case <-s.closed:
	default:
		close(s.closed)
	}
	return nil
}

// All of the output is read while nobody takes it, and comes in order, its end last.
func TestAllIsReadAhead(t *testing.T) {
	limits := &Limits{Memory: 100_000, Disk: 8 << 20, All: 8 << 20, Dir: t.TempDir()}
	broken := errors.New("connection reset")
	conn, want := newSource(3<<20, broken)
	s := New(conn, limits)
	<-conn.ended
	if files, _ := filepath.Glob(filepath.Join(limits.Dir, "*")); len(files) != 0 {
		t.Errorf("the file has a name: %v", files)
	}
	got, err := io.ReadAll(s)
	if !errors.Is(err, broken) || !bytes.Equal(got, want) {
		t.Errorf("%d of %d bytes, equal %v, %v", len(got), len(want), bytes.Equal(got, want), err)
	}
	if n := limits.used.Load(); n != 0 {
		t.Errorf("%d bytes of the disk count as used", n)
	}
	if _, err := s.Write([]byte("input")); err != nil || conn.input.String() != "input" {
		t.Errorf("a write: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// Reads and what is read ahead run side by side, through memory and file.
func TestInterleaved(t *testing.T) {
	limits := &Limits{Memory: chunk, Disk: 200_000, All: 300_000, Dir: t.TempDir()}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			conn, want := newSource(2<<20, io.EOF)
			s := New(conn, limits)
			defer s.Close()
			var got []byte
			for p := make([]byte, 70_000); ; {
				n, err := s.Read(p[:1+rand.IntN(len(p)-1)])
				got = append(got, p[:n]...)
				if err != nil {
					if err != io.EOF || !bytes.Equal(got, want) {
						t.Errorf("%d of %d bytes, %v", len(got), len(want), err)
					}
					return
				}
			}
		})
	}
	all.Wait()
	if n := limits.used.Load(); n != 0 {
		t.Errorf("%d bytes of the disk count as used", n)
	}
}

// At its bounds a Spool lets the sender wait; a disk that takes nothing leaves it memory.
func TestBounds(t *testing.T) {
	for name, c := range map[string]struct {
		limits *Limits
		most   int
	}{
		"of the file":   {&Limits{Memory: chunk, Disk: 10 * chunk, All: 1 << 30, Dir: t.TempDir()}, 12 * chunk},
		"of all files":  {&Limits{Memory: chunk, Disk: 1 << 30, All: 5 * chunk, Dir: t.TempDir()}, 7 * chunk},
		"without files": {&Limits{Memory: 2 * chunk, Disk: 1 << 30, All: 1 << 30, Dir: "/proc/nowhere"}, 3 * chunk},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				conn, want := newSource(1<<20, io.EOF)
				s := New(conn, c.limits)
				synctest.Wait()
				if ahead := len(want) - conn.left(); ahead > c.most || ahead < chunk {
					t.Errorf("%d bytes were read ahead, the bound is %d", ahead, c.most)
				}
				if got, err := io.ReadAll(s); err != nil || !bytes.Equal(got, want) {
					t.Errorf("%d of %d bytes, %v", len(got), len(want), err)
				}
				s.Close()
			})
		})
	}
}

// Close ends a read, and what waits for room.
func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn, _ := newSource(0, nil)
		s := New(conn, &Limits{Memory: chunk})
		read := make(chan error, 1)
		go func() {
			_, err := s.Read(make([]byte, 1))
			read <- err
		}()
		synctest.Wait()
		for range 2 {
			s.Close()
		}
		if err := <-read; !errors.Is(err, os.ErrClosed) {
			t.Errorf("a read ended with %v", err)
		}
		full, _ := newSource(1<<20, io.EOF)
		s = New(full, &Limits{Memory: chunk})
		synctest.Wait()
		s.Close()
	})
}
