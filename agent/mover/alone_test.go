package mover

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// noted notes that a stream was read.
type noted struct {
	io.ReadWriteCloser
	read atomic.Bool
}

func (n *noted) Read(b []byte) (int, error) {
	n.read.Store(true)
	return n.ReadWriteCloser.Read(b)
}

// A receiver whose stream was cut may still write what had arrived: the next one begins when that has ended.
func TestOneReceiverAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t)
		must(t, os.WriteFile(filepath.Join(p.from, "a"), make([]byte, 3*blockSize), 0o600))
		receive := func(rw io.ReadWriteCloser) chan error {
			ended := make(chan error, 1)
			go func() { ended <- Receive(t.Context(), p.copied, rw) }()
			synctest.Wait()
			return ended
		}
		cut, a := net.Pipe()
		first := receive(a)
		whole, b := net.Pipe()
		next := &noted{ReadWriteCloser: b}
		second := receive(next)
		if next.read.Load() {
			t.Error("it receives beside another one")
		}
		cut.Close()
		if err := <-first; err == nil {
			t.Error("the one that was cut says that it is whole")
		}
		if _, err := p.sender.Verify(t.Context(), whole); err != nil {
			t.Error(err)
		}
		if err := <-second; err != nil {
			t.Error(err)
		}
		whole.Close()

		// One that does not end is told.
		cut, a = net.Pipe()
		first = receive(a)
		whole, b = net.Pipe()
		second = receive(b)
		if _, err := p.sender.Verify(t.Context(), whole); err == nil {
			t.Error("it has received beside another one")
		} else {
			t.Log(err)
		}
		whole.Close()
		<-second
		cut.Close()
		<-first
	})
}
