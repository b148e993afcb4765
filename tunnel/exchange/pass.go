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
		if pour(to, from) == nil && closeWrite(to) {
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

// little is how much is copied at a time at first: most connections carry little, and a site has many.
const little = 2 << 10

// pour copies until from ends. It holds little, and up to chunk once that is filled.
func pour(to io.Writer, from io.Reader) error {
	buffer := make([]byte, little)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			if _, err := to.Write(buffer[:n]); err != nil {
				return err
			}
		}
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		case n == len(buffer) && n < chunk:
			buffer = make([]byte, min(4*n, chunk))
		}
	}
}

// closeWrite ends one half of a connection, and reports whether it could.
func closeWrite(c io.Writer) bool {
	half, can := c.(CloseWriter)
	return can && half.CloseWrite() == nil
}
