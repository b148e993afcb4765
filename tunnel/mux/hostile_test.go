package mux

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"skerry.dev/skerry/store/storetest/leak"
	"skerry.dev/skerry/tunnel"
)

func TestMain(m *testing.M) { leak.Main(m) }

// peer is a carrier whose other side says what a test has written down, and is gone then.
type peer struct {
	*bytes.Reader
	stays chan struct{} // the other side goes when it is closed; nil is at once

	mu   sync.Mutex
	said []byte // by this side
}

func (p *peer) Read(b []byte) (int, error) {
	n, err := p.Reader.Read(b)
	if err != nil && p.stays != nil {
		<-p.stays
	}
	return n, err
}

func (p *peer) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.said = append(p.said, b...)
	return len(b), nil
}

func (p *peer) heard() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.said)
}

func (*peer) SetReadDeadline(time.Time) error  { return nil }
func (*peer) SetWriteDeadline(time.Time) error { return nil }
func (*peer) CloseWrite() error                { return nil }
func (*peer) Abort() error                     { return nil }
func (*peer) RemoteAddr() net.Addr             { return &net.UnixAddr{} }
func (*peer) Crossed() (uint64, uint64)        { return 0, 0 }

// hears has a parent hear what a hostile child says, and returns how the connection ends.
func hears(t testing.TB, says []byte, budget *Budget) error {
	t.Helper()
	c := New(&peer{Reader: bytes.NewReader(says)}, Options{Profile: Data, Budget: budget})
	select {
	case <-c.Received():
	case <-time.After(time.Minute):
		t.Fatal("the connection stands")
	}
	return c.Err()
}

func data(stream, n int) []byte {
	return append(frame{kind: frameData, stream: uint32(stream), value: n}.append(nil), make([]byte, n)...)
}

// A peer that breaks the protocol of a data connection is dropped.
func TestHostileChild(t *testing.T) {
	var many, beyond []byte
	for i := range Data.ChildStreams + 1 {
		many = append(many, data(1+2*i, 1)...)
	}
	for range Data.StreamWindow/maxData + 1 {
		beyond = append(beyond, data(1, maxData)...)
	}
	for name, says := range map[string][]byte{
		"too many streams":     many,
		"beyond the window":    beyond,
		"credit for nothing":   frame{kind: frameCredit, stream: 2, value: 1}.append(nil),
		"too much credit":      frame{kind: frameCredit, stream: 1, value: Data.MaxStreamWindow}.append(nil),
		"too much for all":     frame{kind: frameCredit, stream: 0, value: 1}.append(nil),
		"a stream of ours":     data(2, 1),
		"an unknown frame":     {77},
		"a jump":               data(2*Data.ChildStreams+1, 1),
		"a stream without one": data(0, 1),
	} {
		budget := NewBudget(1 << 30)
		if err := hears(t, says, budget); !errors.Is(err, tunnel.ErrProtocol) {
			t.Errorf("%s: ended with %v", name, err)
		}
		if n := budget.Used(); n != 0 {
			t.Errorf("%s: %d bytes of the budget are left", name, n)
		}
	}
}

// Streams for which there is no memory, in the half of children, are reset, one by one, and what
// comes on them is dropped.
func TestNoMemoryForStreams(t *testing.T) {
	var says []byte
	for i := range 5 {
		says = append(says, data(1+2*i, 1000)...)
	}
	for i := range 5 {
		says = append(says, data(1+2*i, 1000)...)
	}
	p := &peer{Reader: bytes.NewReader(says), stays: make(chan struct{})}
	c := New(p, Options{Profile: Data, Budget: NewBudget(4 * Data.ChildWindow)})
	reset := func(stream int) bool {
		return bytes.Contains(p.heard(), frame{kind: frameReset, stream: uint32(stream)}.append(nil))
	}
	for end := time.Now().Add(time.Minute); !reset(5) || !reset(7) || !reset(9); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("said %x", p.heard())
		}
	}
	if reset(1) || reset(3) || c.Err() != nil || c.Streams() != 2 {
		t.Errorf("%d streams are open, said %x, %v", c.Streams(), p.heard(), c.Err())
	}
	close(p.stays)
	<-c.Received()
}

// FuzzPeer has a data connection hear anything at all: it ends, and gives back what it took.
func FuzzPeer(f *testing.F) {
	f.Add(data(1, 100))
	f.Add(append(data(1, 3), frame{kind: frameReset, stream: 1}.append(nil)...))
	f.Add(append(data(1, 3), frame{kind: frameEnd, stream: 1}.append(nil)...))
	f.Add(append(frame{kind: framePing}.append(nil), frame{kind: frameClose, stream: 1, value: 2}.append(nil)...))
	f.Add(binary.AppendUvarint([]byte{frameCredit, 1}, 1<<40))
	f.Fuzz(func(t *testing.T, says []byte) {
		budget := NewBudget(8 * Data.StreamWindow)
		c := New(&peer{Reader: bytes.NewReader(says)}, Options{Profile: Data, Budget: budget})
		var serving sync.WaitGroup
		for {
			s, err := c.AcceptStream(context.Background())
			if err != nil {
				break
			}
			serving.Go(func() {
				_, _ = io.Copy(s, s)
				s.Cancel()
			})
		}
		<-c.Received()
		serving.Wait()
		if n := budget.Used(); n != 0 || c.Streams() != 0 {
			t.Errorf("%d bytes of the budget and %d streams are left", n, c.Streams())
		}
	})
}
