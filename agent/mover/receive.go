package mover

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"

	"github.com/klauspost/compress/zstd"
)

// Receive makes what is below root like what a Sender sends, in one of its rounds. It closes the stream when ctx
// ends, and when it fails, which it tells the sender before. It waits for a receiver before it that has not ended
// yet. The volume must have no other writer.
func Receive(ctx context.Context, root *os.Root, rw io.ReadWriteCloser) error {
	defer context.AfterFunc(ctx, func() { rw.Close() })()
	unpacker, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(blockSize))
	if err != nil {
		return fmt.Errorf("decompress: %w", err)
	}
	defer unpacker.Close()
	r := &receiving{ctx: ctx, root: root, wire: newWire(rw), unpacker: unpacker, files: map[uint64]*incoming{},
		answers: make(chan []byte, 2*maxPending)}
	defer r.close()
	told := make(chan error, 1)
	go func() { told <- r.tell() }()
	err = r.run()
	if err != nil {
		defer r.discard(rw)()
	}
	close(r.answers)
	if failed := <-told; err == nil {
		err = failed
	}
	if err == nil {
		err = r.acknowledge()
	}
	if err == nil {
		return nil
	}
	if r.wire.send(frameError, encodeRefusal(err)) != nil || r.wire.flush() != nil {
		rw.Close()
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// farewell is how long a sender may take to hear why it is refused.
const farewell = 5 * time.Second

// discard reads what a sender still sends, which may not hear anybody before. What it returns waits until the
// sender has closed the stream, and closes it after a while.
func (r *receiving) discard(rw io.ReadWriteCloser) (wait func()) {
	late, read := time.AfterFunc(farewell, func() { rw.Close() }), make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(io.Discard, r.wire.r) // its end is what counts
	}()
	return func() {
		<-read
		late.Stop()
		rw.Close()
	}
}

// receiving is one round of a receiver. A second goroutine sends its answers, so that reading never waits for
// the sender to read.
type receiving struct {
	ctx      context.Context
	root     *os.Root
	wire     *wire
	unpacker *zstd.Decoder
	block    []byte // unpacked
	has      []byte // read from the disk
	answers  chan []byte
	lock     io.Closer

	verify  bool
	entered bool // the volume's own directory, which is entered once
	stack   []level
	seq     uint64
	files   map[uint64]*incoming // whose blocks are awaited
	unkept  Names
}

// level is a directory that the sender is in.
type level struct {
	path string
	meta meta
	last string   // the name that came last
	here []string // what is here and comes after that, in order
}

// incoming is a file that the sender sends.
type incoming struct {
	path    string
	meta    meta
	file    *os.File
	size    int64
	had     int64 // its size before: what was beyond is nothing but zeros now
	index   int64 // the next segment
	awaited int   // blocks
}

func (r *receiving) close() {
	if r.lock != nil {
		defer r.lock.Close()
	}
	for _, f := range r.files {
		f.file.Close()
	}
}

// tell sends the answers.
func (r *receiving) tell() (err error) {
	for a := range r.answers {
		if err == nil {
			err = r.wire.send(frameNeed, a)
		}
		if err == nil && len(r.answers) == 0 {
			err = r.wire.flush()
		}
	}
	return err
}

func (r *receiving) run() error {
	lock, err := alone(r.ctx, r.root)
	if err != nil {
		return err
	}
	r.lock = lock
	if err := r.hello(); err != nil {
		return err
	}
	for ended := false; ; {
		kind, payload, err := r.wire.next()
		if err != nil {
			return err
		}
		if kind == frameEnd {
			ended = true
		} else if err := r.take(kind, payload); err != nil {
			return err
		}
		if ended && len(r.files) == 0 { // blocks that were asked for may come after the end of the tree
			return nil
		}
	}
}

func (r *receiving) hello() error {
	kind, payload, err := r.wire.next()
	if err != nil {
		return err
	}
	f := &fields{rest: payload}
	says, flags := f.text(maxName), f.bytes(1)
	if err := f.whole("the first frame"); kind != frameHello || err != nil || says != version {
		return fmt.Errorf("%w: this side speaks %s, and the other %q", ErrProtocol, version, says)
	}
	r.verify, r.block, r.has = flags[0] == 1, make([]byte, 0, blockSize), make([]byte, blockSize)
	return nil
}

func (r *receiving) take(kind byte, payload []byte) error {
	switch kind {
	case frameHashes:
		return r.hashes(payload)
	case frameBlock:
		return r.store(payload)
	case frameLeave:
		return r.leave()
	case frameDir, frameFile, frameSymlink, frameLink:
	default:
		return fmt.Errorf("%w: a frame of kind %q", ErrProtocol, kind)
	}
	e, err := decodeEntry(payload)
	if err != nil {
		return err
	}
	path := "."
	if kind != frameDir || len(r.stack) > 0 || r.entered {
		if path, err = r.named(e.name); err != nil {
			return err
		}
	}
	switch kind {
	case frameDir:
		return r.enter(path, e)
	case frameFile:
		return r.file(path, e)
	case frameSymlink:
		return r.symlink(path, e)
	default:
		return r.link(path, e)
	}
}

// named is the path of the next name in the present directory. What is here before it goes.
func (r *receiving) named(name string) (string, error) {
	if len(r.stack) == 0 || len(r.stack) > maxDepth {
		return "", fmt.Errorf("%w: the name %q in no directory", ErrProtocol, name)
	}
	l := &r.stack[len(r.stack)-1]
	if name <= l.last {
		return "", fmt.Errorf("%w: the name %q after %q", ErrProtocol, name, l.last)
	}
	l.last = name
	if err := r.remove(l, func(here string) bool { return here < name }); err != nil {
		return "", err
	}
	if len(l.here) > 0 && l.here[0] == name {
		l.here = l.here[1:]
	}
	path := join(l.path, name)
	if len(path) > maxPath {
		return "", fmt.Errorf("%w: a path of %d bytes", ErrProtocol, len(path))
	}
	return path, nil
}

// remove removes the first names that are in a directory, for as long as they are among some.
func (r *receiving) remove(l *level, among func(name string) bool) error {
	for len(l.here) > 0 && among(l.here[0]) {
		name := l.here[0]
		l.here = l.here[1:]
		if l.path == "." && name == "lost+found" {
			continue
		}
		if err := r.root.RemoveAll(join(l.path, name)); err != nil {
			return fmt.Errorf("remove what the source does not have: %w", err)
		}
	}
	return r.ctx.Err()
}

// clear removes what is at a path unless it is of a kind, and reports whether it is.
func (r *receiving) clear(path string, is func(info fs.FileInfo) bool) (fs.FileInfo, bool, error) {
	info, err := r.root.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, false, nil
	case err != nil:
		return nil, false, fmt.Errorf("look at %s: %w", path, err)
	case is(info):
		return info, true, nil
	}
	if err := r.root.RemoveAll(path); err != nil {
		return nil, false, fmt.Errorf("replace %s: %w", path, err)
	}
	return nil, false, nil
}

func (r *receiving) enter(path string, e entry) error {
	info, is, err := r.clear(path, fs.FileInfo.IsDir)
	switch {
	case err != nil:
		return err
	case !is:
		if err := r.root.Mkdir(path, 0o700); err != nil {
			return fmt.Errorf("make a directory: %w", err)
		}
	case info.Mode().Perm()&0o700 != 0o700:
		if err := r.root.Chmod(path, 0o700); err != nil {
			return fmt.Errorf("open a directory: %w", err)
		}
	}
	here, err := namesIn(r.root, path)
	if err != nil {
		return err
	}
	r.entered = true
	r.stack = append(r.stack, level{path: path, meta: e.meta, here: here})
	return nil
}

func (r *receiving) leave() error {
	if len(r.stack) == 0 {
		return fmt.Errorf("%w: it leaves what it is not in", ErrProtocol)
	}
	l := &r.stack[len(r.stack)-1]
	if err := r.remove(l, func(string) bool { return true }); err != nil {
		return err
	}
	r.stack = r.stack[:len(r.stack)-1]
	f, err := r.root.OpenFile(l.path, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return fmt.Errorf("open a directory: %w", err)
	}
	defer f.Close()
	return r.dress(f, l.path, l.meta)
}

func (r *receiving) symlink(path string, e entry) error {
	info, is, err := r.clear(path, func(info fs.FileInfo) bool {
		target, err := r.root.Readlink(path)
		return info.Mode().Type() == fs.ModeSymlink && err == nil && target == e.target
	})
	if err != nil {
		return err
	}
	if !is {
		if err := r.root.Symlink(e.target, path); err != nil {
			return fmt.Errorf("make a link: %w", err)
		}
		if info, err = r.root.Lstat(path); err != nil {
			return fmt.Errorf("look at a link: %w", err)
		}
	}
	if was := metaOf(info); was.uid != e.meta.uid || was.gid != e.meta.gid {
		if err := r.root.Lchown(path, int(e.meta.uid), int(e.meta.gid)); err != nil {
			r.unkept.add(path + ": owner")
		}
	}
	return nil
}

func (r *receiving) link(path string, e entry) error {
	first, err := r.root.Lstat(e.target)
	if err != nil || !first.Mode().IsRegular() {
		return fmt.Errorf("%w: %s is a name of %s, which is no file", ErrProtocol, path, e.target)
	}
	_, is, err := r.clear(path, func(info fs.FileInfo) bool { return os.SameFile(info, first) })
	if err != nil || is {
		return err
	}
	if err := r.root.Link(e.target, path); err != nil {
		return fmt.Errorf("give a file a further name: %w", err)
	}
	return nil
}

// acknowledge has everything on the disk, reads it again if it is asked to, and says so.
func (r *receiving) acknowledge() error {
	if len(r.stack) > 0 || !r.entered {
		return fmt.Errorf("%w: it ends before everything was sent", ErrProtocol)
	}
	if err := flushDisk(r.root); err != nil {
		return err
	}
	var is sum
	if r.verify {
		v := &verifying{root: r.root, tally: newTally(), buf: r.has}
		if err := walkTree(r.ctx, r.root, v); err != nil {
			return err
		}
		is = v.tally.sum()
	}
	if err := r.wire.send(frameAck, is[:], appendNames(nil, r.unkept)); err != nil {
		return err
	}
	return r.wire.flush()
}
