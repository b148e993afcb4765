// Package spool reads a connection ahead of a slow reader, so that its sender is not held up.
//
// A kubelet that a command has ended on closes its connection a moment later, whether all that the
// command wrote has been read or not (kubernetes#60140). Over a slow link kubectl loses the end of
// the output that way, and exits with 0. An agent that reads the connection at the site's speed gets
// all of it, and keeps it until the link has taken it.
//
// A Spool keeps what was read ahead in memory, and beyond that in a file without a name, which goes
// with the process. Both are bounded; at the bound the sender waits, as it would without a Spool.
package spool

import (
	"io"
	"os"
	"sync"
	"sync/atomic"
)

// Limits bound what Spools keep.
type Limits struct {
	// Memory is how many bytes one Spool keeps in memory, Disk how many in its file.
	Memory int
	Disk   int64
	// All is how many bytes the files of all Spools have together.
	All int64
	// Dir is where the files are; empty means the default directory for temporary files.
	Dir string

	used atomic.Int64
}

// chunk is how much is read at a time.
const chunk = 32 << 10

// Spool is an io.ReadWriteCloser over another one. Writes go through.
type Spool struct {
	io.Writer
	conn   io.ReadWriteCloser
	limits *Limits
	filled chan struct{} // closed when nothing more is read ahead

	mu      sync.Mutex
	changed *sync.Cond
	memory  []byte // is older than what the file has
	file    *os.File
	wrote   int64 // to the file
	read    int64 // from it
	noFile  bool  // there is no room for one
	end     error // of what is read ahead
	closed  bool
}

// New begins to read ahead. Close ends it.
func New(conn io.ReadWriteCloser, limits *Limits) *Spool {
	s := &Spool{Writer: conn, conn: conn, limits: limits, filled: make(chan struct{})}
	s.changed = sync.NewCond(&s.mu)
	go s.fill()
	return s
}

func (s *Spool) fill() {
	defer close(s.filled)
	buffer := make([]byte, chunk)
	for {
		n, err := s.conn.Read(buffer)
		if !s.put(buffer[:n]) {
			return
		}
		if err != nil {
			s.mu.Lock()
			s.end = err
			s.changed.Broadcast()
			s.mu.Unlock()
			return
		}
	}
}

// put keeps bytes, and waits while there is no room. It reports false once the Spool is closed.
func (s *Spool) put(p []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for !s.closed {
		if s.read == s.wrote && len(s.memory)+len(p) <= max(s.limits.Memory, chunk) {
			s.memory = append(s.memory, p...)
			s.changed.Broadcast()
			return true
		}
		if s.spill(p) {
			s.changed.Broadcast()
			return true
		}
		s.changed.Wait()
	}
	return false
}

// spill writes bytes to the file. It reports false where that has no room. s.mu must be held.
func (s *Spool) spill(p []byte) bool {
	size := int64(len(p))
	if s.noFile || s.wrote+size > s.limits.Disk {
		return false
	}
	if s.limits.used.Add(size) > s.limits.All {
		s.limits.used.Add(-size)
		return false
	}
	if s.file == nil {
		f, err := os.CreateTemp(s.limits.Dir, "skerry-spool-*")
		if err == nil {
			err = os.Remove(f.Name())
			s.file = f
		}
		if err != nil {
			return s.withoutFile(size)
		}
	}
	if _, err := s.file.WriteAt(p, s.wrote); err != nil {
		return s.withoutFile(size)
	}
	s.wrote += size
	return true
}

// withoutFile goes on in memory alone: the disk is full, or takes nothing. s.mu must be held.
func (s *Spool) withoutFile(size int64) bool {
	s.limits.used.Add(-size)
	s.noFile = true
	return false
}

// Read implements io.Reader. The error of the connection comes after all that was read from it.
func (s *Spool) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.memory) == 0 && s.read == s.wrote && s.end == nil && !s.closed {
		s.changed.Wait()
	}
	switch {
	case s.closed:
		return 0, os.ErrClosed
	case len(s.memory) > 0:
		n := copy(p, s.memory)
		if s.memory = s.memory[n:]; len(s.memory) == 0 {
			s.memory = nil
		}
		s.changed.Broadcast()
		return n, nil
	case s.read < s.wrote:
		n, err := s.file.ReadAt(p[:min(int64(len(p)), s.wrote-s.read)], s.read)
		s.read += int64(n)
		if s.read == s.wrote {
			s.emptyFile()
		}
		s.changed.Broadcast()
		if err == io.EOF && n > 0 {
			err = nil
		}
		return n, err
	}
	return 0, s.end
}

// emptyFile gives the room of the file back. s.mu must be held.
func (s *Spool) emptyFile() {
	s.limits.used.Add(-s.wrote)
	s.read, s.wrote = 0, 0
	_ = s.file.Truncate(0) // its room is needed for what comes next, and is there
}

// Close ends the connection and returns when nothing is read ahead any more.
func (s *Spool) Close() error {
	s.mu.Lock()
	first := !s.closed
	s.closed = true
	s.changed.Broadcast()
	s.mu.Unlock()
	err := s.conn.Close()
	<-s.filled
	if !first {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.memory = nil
	if s.file != nil {
		s.emptyFile()
		s.file.Close()
	}
	return err
}
