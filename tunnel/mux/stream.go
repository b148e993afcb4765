package mux

import (
	"errors"
	"io"
	"os"
	"slices"
	"time"
)

// errReset is what both sides of a cancelled stream get.
var errReset = errors.New("the stream was cancelled")

// stream is one stream. The connection's mu guards its fields.
type stream struct {
	c  *Conn
	id uint32

	in       queue     // received and not yet read
	size     int       // the whole window; what is unread and window are at most that
	most     int       // what the window of either side may grow to
	held     bool      // size is taken from the budget
	window   int       // what the other side may still send
	read     int       // what was read and not yet credited
	epoch    time.Time // when credit was given the last time
	came     time.Time // when bytes came the last time
	credit   int       // what this side may still send
	inEnd    bool      // the other side has ended its half
	outEnd   bool      // this side has
	outDone  bool      // and has told the other side
	stopped  error     // what Write returns: the other side has ended its half, and then given up this one
	broken   error     // what Read and Write return at once
	deadline time.Time
	change   chan struct{} // closed when something of the above changes; nil while nobody waits
}

func newStream(c *Conn, id uint32) *stream {
	first, most := c.windows(id)
	return &stream{
		c:      c,
		id:     id,
		size:   first,
		most:   most,
		held:   true,
		window: first,
		credit: first,
		epoch:  time.Now(),
	}
}

// changedLocked wakes everybody who waits. Conn.mu must be held.
func (s *stream) changedLocked() {
	if s.change != nil {
		close(s.change)
		s.change = nil
	}
}

// wait releases mu until something changes or the deadline has passed.
func (s *stream) wait() error {
	if s.change == nil {
		s.change = make(chan struct{})
	}
	change, deadline := s.change, s.deadline
	var expired <-chan time.Time
	if !deadline.IsZero() {
		left := time.Until(deadline)
		if left <= 0 {
			return os.ErrDeadlineExceeded
		}
		timer := time.NewTimer(left)
		defer timer.Stop()
		expired = timer.C
	}
	s.c.mu.Unlock()
	defer s.c.mu.Lock()
	select {
	case <-change:
	case <-expired:
	}
	return nil
}

// Read implements tunnel.Stream. It credits what it returns to the peer once that amounts to
// something.
func (s *stream) Read(b []byte) (n int, err error) {
	s.c.mu.Lock()
	for s.in.n == 0 && s.broken == nil && !s.inEnd && err == nil {
		err = s.wait()
	}
	switch {
	case s.broken != nil:
		err = s.broken
	case s.in.n > 0:
		n, err = s.in.take(b), nil
		s.releaseLocked()
		if s.read += n; s.read >= s.size/2 && !s.inEnd {
			more := s.read + s.growLocked()
			s.c.oweLocked(s.id, more)
			s.window += more
			s.read = 0
		}
		s.c.takenLocked(n)
	case s.inEnd:
		err = io.EOF
	}
	pay := s.c.owes()
	s.c.mu.Unlock()
	if pay {
		s.c.pay()
	}
	return n, err
}

// Write implements tunnel.Stream.
func (s *stream) Write(b []byte) (n int, err error) {
	for n < len(b) && err == nil {
		var room int
		if room, err = s.reserve(len(b) - n); err == nil {
			err = s.c.write(frame{kind: frameData, stream: s.id, value: room}, b[n:n+room])
			n += room
		}
	}
	return n, err
}

// reserve waits until something may be sent, and deducts it from the credit.
func (s *stream) reserve(want int) (int, error) {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	for {
		switch room := min(want, sentData, s.credit, s.c.credit); {
		case s.broken != nil:
			return 0, s.broken
		case s.stopped != nil:
			return 0, s.stopped
		case s.outEnd:
			return 0, io.ErrClosedPipe
		case !s.deadline.IsZero() && !time.Now().Before(s.deadline):
			return 0, os.ErrDeadlineExceeded
		case room > 0:
			s.credit -= room
			s.c.credit -= room
			return room, nil
		}
		if err := s.wait(); err != nil {
			return 0, err
		}
	}
}

// Close implements tunnel.Stream: it ends the writing half.
func (s *stream) Close() error {
	s.c.mu.Lock()
	if s.broken != nil || s.stopped != nil || s.outEnd {
		s.c.mu.Unlock()
		return nil
	}
	s.outEnd = true
	s.c.settleLocked(s)
	s.changedLocked()
	s.c.mu.Unlock()
	err := s.c.write(frame{kind: frameEnd, stream: s.id}, nil)
	s.c.mu.Lock()
	s.outDone = true
	s.c.settleLocked(s)
	s.c.mu.Unlock()
	return err
}

// Cancel implements tunnel.Stream. It does not wait until the other side can be told.
func (s *stream) Cancel() {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	if s.c.streams[s.id] == s {
		s.c.resets = append(s.c.resets, s.id)
	}
	s.breakOffLocked(errReset)
	if s.c.owes() {
		go s.c.pay()
	}
}

// breakOffLocked ends both halves and discards what was not read. Conn.mu must be held.
func (s *stream) breakOffLocked(err error) {
	if s.broken != nil {
		return
	}
	s.broken = err
	s.c.takenLocked(s.in.n)
	s.in.clear()
	s.c.forgetLocked(s)
	s.releaseLocked()
	s.changedLocked()
}

// givenUpLocked is called when the other side, or the connection, has ended both halves. What has
// come whole can still be read by who has accepted the stream.
func (s *stream) givenUpLocked(err error) {
	if !s.inEnd || slices.Contains(s.c.waiting, s) {
		s.breakOffLocked(err)
		return
	}
	if s.stopped == nil {
		s.stopped = err
		s.c.forgetLocked(s)
		s.changedLocked()
	}
}

// SetDeadline implements tunnel.Stream.
func (s *stream) SetDeadline(t time.Time) error {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	s.deadline = t
	s.changedLocked()
	return nil
}

// leastRound is the round trip that a window is grown for at least: a local peer is scheduled, too.
const leastRound = 5 * time.Millisecond

// growLocked doubles the window when the other side waits for credit: half of it was read within two
// round trips, or it is used up, and read as it comes. The round trip of a busy connection is of when
// it was quiet, and the link may have become longer. It returns by how many bytes the window has grown.
func (s *stream) growLocked() int {
	now, soon := time.Now(), 2*max(s.c.rtt, leastRound)
	fast := now.Sub(s.epoch) < soon || s.window == 0 && now.Sub(s.came) < soon
	s.epoch = now
	more := min(s.size, s.most-s.size)
	if !fast || !s.widenLocked(more) {
		return 0
	}
	return more
}

// widenLocked takes more bytes for the window out of the budget, and reports whether it has as many.
func (s *stream) widenLocked(more int) bool {
	if more <= 0 || !s.c.Budget.take(more, extraShare, s.c.ofChild(s.id)) {
		return false
	}
	s.size += more
	return true
}

// Expect widens the window at once, as tunnel.Expect has it. It does nothing where the budget does not have as much.
func (s *stream) Expect(bytes int) {
	s.c.mu.Lock()
	more := min(bytes, s.most) - s.size
	if s.held && s.broken == nil && !s.inEnd && s.widenLocked(more) {
		s.window += more
		s.c.oweLocked(s.id, more)
	}
	pay := s.c.owes()
	s.c.mu.Unlock()
	if pay {
		s.c.pay()
	}
}

// releaseLocked gives the window back when the stream is over and nothing of it is unread.
func (s *stream) releaseLocked() {
	if s.held && s.in.n == 0 && s.c.streams[s.id] != s {
		s.held = false
		s.c.Budget.release(s.size, s.c.ofChild(s.id))
	}
}

// windows are what a stream may hold unread at first, and at most.
func (c *Conn) windows(id uint32) (first, most int) {
	if c.ofChild(id) {
		return c.ChildWindow, c.MaxChildWindow
	}
	return c.StreamWindow, c.MaxStreamWindow
}

// ofChild reports whether a stream has the windows of those that the child opens.
func (c *Conn) ofChild(id uint32) bool { return c.ChildWindow > 0 && id%2 == 1 }

// takeWindow takes the window of a new stream out of the budget.
func (c *Conn) takeWindow(id uint32) bool {
	first, _ := c.windows(id)
	return c.Budget.take(first, 1, c.ofChild(id))
}
