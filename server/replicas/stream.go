package replicas

import (
	"crypto/tls"
	"errors"
	"io"
	"sync"
)

// stream is a connection as a stream: each half ends alone, and the socket when both have.
type stream struct {
	*tls.Conn
	ended func() // once, when the socket is closed
	once  sync.Once

	mu      sync.Mutex
	writing bool // somebody is in Write
	closing bool // Close was called
	wrote   bool // the half that is written has ended
	read    bool // and the other one
}

var errClosed = errors.New("write after the end of the stream")

func newStream(c *tls.Conn, ended func()) *stream { return &stream{Conn: c, ended: ended} }

// Read implements io.Reader. io.EOF is the peer's word that it has ended, and not a broken
// connection.
func (s *stream) Read(p []byte) (int, error) {
	n, err := s.Conn.Read(p)
	if err == io.EOF {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.read = true
		s.endedLocked()
	}
	return n, err
}

// Write implements io.Writer. One at a time may write.
func (s *stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	if s.closing {
		s.mu.Unlock()
		return 0, errClosed
	}
	s.writing = true
	s.mu.Unlock()
	n, err := s.Conn.Write(p)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writing = false
	if s.closing {
		return n, errors.Join(err, s.endLocked())
	}
	return n, err
}

// Close implements io.Closer: it ends the half that is written, behind what is being written, for
// which it does not wait.
func (s *stream) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return nil
	}
	s.closing = true
	if s.writing {
		return nil
	}
	return s.endLocked()
}

func (s *stream) endLocked() error {
	if err := s.Conn.CloseWrite(); err != nil {
		s.Cancel()
		return err
	}
	s.wrote = true
	s.endedLocked()
	return nil
}

// endedLocked closes the socket once both halves have ended.
func (s *stream) endedLocked() {
	if s.read && s.wrote {
		s.Cancel()
	}
}

// Cancel implements tunnel.Stream. The peer reads an error.
func (s *stream) Cancel() {
	s.once.Do(func() {
		s.Conn.NetConn().Close()
		s.ended()
	})
}
