package mover

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/klauspost/compress/zstd"
)

// Receive makes what is below root like what a Sender sends, in one of its rounds. It closes the stream when ctx
// ends, and when it fails, which it tells the sender before. It waits for a receiver before it that has not ended
// yet. The volume must have no other writer.
func Receive(ctx context.Context, root *os.Root, rw io.ReadWriteCloser) error {
	_, err := receive(ctx, volume{root, nil}, rw, Standby{}, "")
	return err
}

// ReceiveAgain is Receive in one of several rounds of the same copy. Each reads back what it has written, and remembers
// in a file outside of the volume what was read, so that the last one has little left to read.
func ReceiveAgain(ctx context.Context, root *os.Root, rw io.ReadWriteCloser, memory string) error {
	_, err := receive(ctx, volume{root, nil}, rw, Standby{}, memory)
	return err
}

// ReceiveStandby is Receive into a standby, see Standby.
func ReceiveStandby(ctx context.Context, root *os.Root, rw io.ReadWriteCloser, of Standby) error {
	_, err := receive(ctx, volume{root, nil}, rw, of, "")
	return err
}

// receive returns how many bytes of the copy were read at the end, too.
func receive(
	ctx context.Context, v volume, rw io.ReadWriteCloser, of Standby, memory string,
) (readBack int64, err error) {
	defer context.AfterFunc(ctx, func() { rw.Close() })()
	unpacker, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(blockSize))
	if err != nil {
		return 0, fmt.Errorf("decompress: %w", err)
	}
	defer unpacker.Close()
	r := &receiving{ctx: ctx, volume: v, of: of, path: memory, memory: newMemory(),
		wire: newWire(rw), unpacker: unpacker, files: map[uint64]*incoming{},
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
		return r.reads, nil
	}
	if r.wire.send(frameError, encodeRefusal(err)) != nil || r.wire.flush() != nil {
		rw.Close()
	}
	if ctx.Err() != nil {
		return r.reads, context.Cause(ctx)
	}
	return r.reads, err
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
	volume
	ctx      context.Context
	of       Standby
	to       sink
	wire     *wire
	unpacker *zstd.Decoder
	block    []byte // unpacked
	buf      []byte // read from the disk
	answers  chan []byte
	lock     io.Closer

	path   string // of the memory, empty for none
	memory memory
	parts  *parts // nil where nothing is known of what a round writes
	reads  int64  // bytes, of what was written

	verify  bool
	entered bool // the volume's own directory, which is entered once
	stack   []level
	seq     uint64
	files   map[uint64]*incoming // whose blocks are awaited
	is      Round
}

// level is a directory that the sender is in.
type level struct {
	path string
	meta meta
	last string // the name that came last
}

// incoming is a file that the sender sends.
type incoming struct {
	seq     uint64
	path    string
	meta    meta
	file    *os.File // what is here of it, nil for nothing
	fresh   bool     // it is made anew, of what was here nothing stays
	size    int64
	had     int64 // its size before: what was beyond is nothing but zeros now
	index   int64 // the next segment
	awaited int   // blocks
	part
}

func (in *incoming) close() {
	if in.file != nil {
		in.file.Close()
	}
}

func (r *receiving) close() {
	if r.lock != nil {
		defer r.lock.Close()
	}
	for _, f := range r.files {
		f.close()
	}
	if r.to != nil {
		r.to.close()
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
	if r.path != "" {
		r.memory = recall(r.path)
	}
	if err := r.hello(); err != nil {
		return err
	}
	if r.to, err = r.begin(r.of); err != nil {
		return err
	}
	if _, ok := r.to.(*inplace); ok && r.readsBack() {
		r.parts = newParts()
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
	says, of, flags := f.text(maxName), f.text(maxCopyName), f.bytes(1)
	if err := f.whole("the first frame"); kind != frameHello || err != nil || says != version {
		return fmt.Errorf("%w: this side speaks %s, and the other %q", ErrProtocol, version, says)
	}
	if flags[0]&helloRelies != 0 && of != r.memory.copy {
		return fmt.Errorf("%w: this side remembers none of that copy", ErrStale)
	}
	if r.memory.copy != of && r.path != "" {
		_ = os.Remove(r.path) // should this round fail, nobody relies on what was there before it
	}
	r.memory.copy = of
	r.verify, r.block, r.buf = flags[0]&helloVerify != 0, make([]byte, 0, blockSize), make([]byte, blockSize)
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
		r.entered = true
		r.stack = append(r.stack, level{path: path, meta: e.meta})
		return r.to.enter(path, e)
	case frameFile:
		return r.file(path, e)
	case frameSymlink:
		return r.to.symlink(path, e)
	default:
		if ours(e.target) {
			return fmt.Errorf("%w: a further name of %s", ErrProtocol, e.target)
		}
		return r.to.link(path, e)
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
	path := join(l.path, name)
	switch {
	case len(path) > maxPath:
		return "", fmt.Errorf("%w: a path of %d bytes", ErrProtocol, len(path))
	case ours(path):
		return "", fmt.Errorf("%w: the name %s", ErrProtocol, path)
	}
	return path, errors.Join(r.to.named(name), r.ctx.Err())
}

func (r *receiving) leave() error {
	if len(r.stack) == 0 {
		return fmt.Errorf("%w: it leaves what it is not in", ErrProtocol)
	}
	l := r.stack[len(r.stack)-1]
	r.stack = r.stack[:len(r.stack)-1]
	return errors.Join(r.to.leave(l.path, l.meta), r.ctx.Err())
}

// readsBack reports whether what is written is read from its disk at the end of the round.
func (r *receiving) readsBack() bool { return r.verify || r.path != "" }

// acknowledge has everything on the disk, reads it again if it is asked to, and says so.
func (r *receiving) acknowledge() error {
	if len(r.stack) > 0 || !r.entered {
		return fmt.Errorf("%w: it ends before everything was sent", ErrProtocol)
	}
	unkept, err := r.to.end(r.is)
	if err != nil {
		return err
	}
	var is sum
	if r.readsBack() {
		v := &verifying{root: r.root, tally: newTally(), buf: r.buf, known: r.memory.files, parts: r.parts,
			next: map[string]stamp{}}
		if err := walkTree(r.ctx, r.root, v); err != nil {
			return err
		}
		is, r.reads = v.tally.sum(), v.reads
		if r.path != "" {
			_ = memory{r.memory.copy, v.next}.keep(r.path) // what is remembered already goes on to be true
		}
	}
	if r.verify {
		if err := r.release(); err != nil { // whoever asks for this is about to begin here
			return err
		}
	}
	if err := r.wire.send(frameAck, is[:], appendNames(nil, unkept)); err != nil {
		return err
	}
	return r.wire.flush()
}
