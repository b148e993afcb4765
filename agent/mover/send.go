package mover

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// ErrDiffers is returned when the copy, as its disk has it, is not what the source holds.
var ErrDiffers = errors.New("the copy differs from the source")

// ErrStale is returned when the copy is not as an earlier round has left it. The next round compares everything.
var ErrStale = errors.New("the copy is not as the last round has left it")

// Bounds of a sender.
const (
	maxPending  = 32        // segments that wait for the receiver's answer, each with an open file
	maxSeen     = 1_000_000 // files that are remembered between rounds
	settledTime = 2 * time.Second
)

// stamp is what a file was like when it was sent. While it is so, it holds the same.
type stamp struct {
	inode        inode
	size         int64
	mtime, ctime syscall.Timespec
	sum          sum
}

func stampOf(info fs.FileInfo) (s stamp) {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		s = stamp{inode{st.Dev, st.Ino}, st.Size, st.Mtim, st.Ctim, sum{}}
	}
	return s
}

// same reports whether nothing has written to a file between two stamps.
func (s stamp) same(as stamp) bool {
	s.sum, as.sum = sum{}, sum{}
	return s == as && s.inode.ino != 0
}

// now is the time of this machine, which tests set.
var now = time.Now

// settled reports whether a file was not written to for so long that its next write changes its times.
func (s stamp) settled(at time.Time) bool {
	before := at.Add(-settledTime)
	return time.Unix(s.mtime.Unix()).Before(before) && time.Unix(s.ctime.Unix()).Before(before)
}

// Sender sends a volume, and remembers what it has sent. It makes one round at a time.
type Sender struct {
	// Tell is told how far a round is, at each file and each 32 MiB of one. Nil is nobody.
	Tell func(Report)

	root *os.Root
	memory
	path string // of the memory, empty for one of this process alone
}

// NewSender returns a sender of what is below root.
func NewSender(root *os.Root) *Sender { return &Sender{root: root, memory: newMemory()} }

// Remember has a sender know what earlier ones have sent which remembered it in the same file, and remember there what
// it sends itself. The receiver must have a memory of its own, see ReceiveAgain. A file that cannot be read or written
// costs time and nothing else.
func (s *Sender) Remember(path string) {
	s.path, s.memory = path, recall(path)
	if s.memory.copy == "" {
		s.memory.copy = rand.Text()
	}
}

// forget has the next round compare everything.
func (s *Sender) forget() {
	if s.memory = newMemory(); s.path != "" {
		s.memory.copy = rand.Text()
		_ = os.Remove(s.path) // what stays would only be refused again
	}
}

// Round makes the copy at the other end of a stream like the source. It closes the stream when ctx ends.
func (s *Sender) Round(ctx context.Context, rw io.ReadWriteCloser) (Report, error) {
	return s.round(ctx, rw, false)
}

// Verify is Round, after which the copy is read from its disk. It returns ErrDiffers unless it holds the same as
// the source: something still writes to either, or a disk is broken.
func (s *Sender) Verify(ctx context.Context, rw io.ReadWriteCloser) (Report, error) {
	return s.round(ctx, rw, true)
}

func (s *Sender) round(ctx context.Context, rw io.ReadWriteCloser, verify bool) (Report, error) {
	defer context.AfterFunc(ctx, func() { rw.Close() })()
	if err := flushDisk(s.root); err != nil {
		return Report{}, err
	}
	r := &sending{tell: s.Tell, root: s.root, wire: newWire(rw), seen: s.files, next: map[string]stamp{},
		tally:   newTally(),
		pending: make(chan asked, maxPending), ended: make(chan struct{}), began: now(), buf: make([]byte, blockSize)}
	var flags byte
	if verify {
		flags |= helloVerify
	}
	if s.path != "" && len(s.files) > 0 {
		flags |= helloRelies
	}
	if err := r.wire.send(frameHello, appendText(appendText(nil, version), s.memory.copy), []byte{flags}); err != nil {
		return Report{}, err
	}
	var failed once
	fail := func(err error) {
		if err != nil && failed.set(err) {
			rw.Close() // neither half waits for the other side any more
		}
	}
	go func() {
		defer close(r.ended)
		fail(r.answer())
	}()
	fail(r.walk(ctx))
	<-r.ended
	err := failed.err
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	r.close()
	switch {
	case errors.Is(err, ErrStale):
		s.forget()
		return r.report, err
	case err != nil:
		return r.report, err
	case verify && r.acked != r.tally.sum():
		s.forget()
		return r.report, ErrDiffers
	}
	if s.files = r.next; s.path != "" {
		_ = s.keep(s.path) // what is remembered already goes on to be true
	}
	return r.report, nil
}

// once keeps the first of several errors.
type once struct {
	do  sync.Once
	err error
}

// set reports whether the error is the first.
func (o *once) set(err error) (first bool) {
	o.do.Do(func() { o.err, first = err, true })
	return first
}

// sending is one round of a sender. It is the visitor of its tree. A second goroutine answers the receiver.
type sending struct {
	tell  func(Report)
	root  *os.Root
	wire  *wire
	seen  map[string]stamp
	next  map[string]stamp // what is so once the receiver has acknowledged; the walker's until answer returns
	tally tally
	began time.Time
	buf   []byte

	files   uint64
	pending chan asked
	ended   chan struct{} // closed when nobody answers any more
	acked   sum
	report  Report
	sent    atomic.Int64
	unkept  Names // the answering goroutine's until ended is closed
}

// asked is a segment whose hashes the receiver has, or is about to get.
type asked struct {
	seq   uint64
	index int64
	size  int64
	file  *os.File
	last  bool // of its file, which is closed then
}

// walk sends the tree.
func (s *sending) walk(ctx context.Context) error {
	if err := walkTree(ctx, s.root, s); err != nil {
		return err
	}
	if err := s.wire.send(frameEnd); err != nil {
		return err
	}
	return s.wire.flush()
}

// close closes what the receiver was not asked about to the end.
func (s *sending) close() {
	s.report.Sent, s.report.Unkept = s.sent.Load(), s.unkept
	for {
		select {
		case a := <-s.pending:
			if a.last {
				a.file.Close()
			}
		default:
			return
		}
	}
}

func (s *sending) entryOf(path string, info fs.FileInfo) entry {
	e := entry{name: info.Name(), meta: metaOf(info)}
	if path == "." {
		e.name = "volume"
	}
	return e
}

func (s *sending) enter(path string, info fs.FileInfo) error {
	e := s.entryOf(path, info)
	e.meta.attrs = attributes(s.root, path, syscall.O_DIRECTORY)
	s.tally.add(frameDir, path, 0, nil)
	s.report.Dirs++
	return s.wire.send(frameDir, e.encode())
}

func (s *sending) leave(string, fs.FileInfo) error { return s.wire.send(frameLeave) }

func (s *sending) symlink(path string, info fs.FileInfo) error {
	target, err := s.root.Readlink(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.EINVAL):
		return nil
	case err != nil:
		return fmt.Errorf("read the link %s: %w", path, err)
	}
	e := s.entryOf(path, info)
	e.target = target
	s.tally.add(frameSymlink, path, 0, []byte(target))
	s.report.Symlinks++
	return s.wire.send(frameSymlink, e.encode())
}

func (s *sending) link(path string, info fs.FileInfo, first string) error {
	e := s.entryOf(path, info)
	e.target = first
	s.tally.add(frameLink, path, 0, []byte(first))
	s.report.Links++
	return s.wire.send(frameLink, e.encode())
}

func (s *sending) skip(path string) { s.report.Skipped.add(path) }

func (s *sending) file(path string, info fs.FileInfo) error {
	e := s.entryOf(path, info)
	f, err := openFile(s.root, path, os.O_RDONLY)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ELOOP):
		return nil
	case err != nil:
		return fmt.Errorf("open %s: %w", path, err)
	}
	if info, err = f.Stat(); err != nil || !info.Mode().IsRegular() {
		f.Close()
		return err
	}
	e.meta, e.size = metaOf(info), info.Size()
	e.meta.attrs = attributesOf(f)
	was := stampOf(info) // as it is on a network file system now, which is asked when a file is opened
	if sent, ok := s.seen[path]; ok && sent.same(was) {
		f.Close()
		e.same = true
		s.count(path, e.size, sent.sum)
		s.next[path] = sent
		return s.wire.send(frameFile, e.encode())
	}
	if err := s.wire.send(frameFile, e.encode()); err != nil {
		f.Close()
		return err
	}
	what, err := s.hashes(f, e.size)
	if err != nil {
		return err
	}
	s.count(path, e.size, what)
	is, err := s.root.Lstat(path)
	if err == nil && stampOf(is).same(was) && was.settled(s.began) && len(s.next) < maxSeen {
		was.sum = what
		s.next[path] = was
	}
	return nil
}

func (s *sending) count(path string, size int64, what sum) {
	s.tally.add(frameFile, path, size, what[:])
	s.report.Files++
	s.report.Bytes += size
	s.far()
}

// far tells how far the round is.
func (s *sending) far() {
	if s.tell != nil {
		r := s.report
		r.Sent = s.sent.Load()
		s.tell(r)
	}
}

// hashes sends those of a file, which it closes: where the last of its segments is asked about, that has it closed.
func (s *sending) hashes(f *os.File, size int64) (sum, error) {
	c, segments, handed := newContent(), (size+segmentSize-1)/segmentSize, false
	defer func() {
		if !handed {
			f.Close()
		}
	}()
	seq := s.files
	s.files++
	for i := range segments {
		seg, err := readSegment(f, size, i, s.buf)
		if err != nil {
			return sum{}, err
		}
		c.add(seg)
		s.far()
		last := i == segments-1
		if err := s.ask(asked{seq, i, size, f, last}); err != nil {
			return sum{}, err
		}
		handed = last
		b := binary.AppendUvarint(binary.AppendUvarint(nil, seq), uint64(i))
		b = append(b, seg.zero[:]...)
		for _, h := range seg.sums {
			b = append(b, h[:]...)
		}
		if err := s.wire.send(frameHashes, b); err != nil {
			return sum{}, err
		}
	}
	return c.sum(), nil
}

// ask waits until the receiver may be asked about one more segment.
func (s *sending) ask(a asked) error {
	select {
	case s.pending <- a:
		return nil
	default:
	}
	if err := s.wire.flush(); err != nil {
		return err
	}
	select {
	case s.pending <- a:
		return nil
	case <-s.ended:
		return errEnded
	}
}

// errEnded is in place of what the receiver's goroutine has returned.
var errEnded = errors.New("the other side has ended the copy")
