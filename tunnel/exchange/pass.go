package exchange

import (
	"io"
	"sync"
)

// CloseWriter is a connection of which one half can be ended: the other side reads to the end and may still
// answer.
type CloseWriter interface{ CloseWrite() error }

// Pass passes bytes between two connections until both halves have ended, and closes both. What ends cleanly
// in one direction ends in that one alone, where the connection is a CloseWriter.
func Pass(a, b io.ReadWriteCloser) {
	var both sync.WaitGroup
	half := func(to, from io.ReadWriteCloser) {
		if _, err := io.CopyBuffer(onlyWriter{to}, onlyReader{from}, make([]byte, chunk)); err == nil && closeWrite(to) {
			return
		}
		a.Close()
		b.Close()
	}
	both.Go(func() { half(a, b) })
	both.Go(func() { half(b, a) })
	both.Wait()
	a.Close()
	b.Close()
}

// closeWrite ends one half of a connection, and reports whether it could.
func closeWrite(c io.Writer) bool {
	half, can := c.(CloseWriter)
	return can && half.CloseWrite() == nil
}

// onlyWriter hides the method by which io.Copy would take another buffer.
type onlyWriter struct{ io.Writer }
