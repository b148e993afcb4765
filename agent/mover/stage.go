package mover

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"skerry.dev/skerry/tunnel/output"
)

// The log of a round has what a sender sends, in that order, as frames: names with all that is kept of them, the blocks
// that differ, and when a file is whole. Beside the kinds of the wire it has these.
const (
	frameFresh  = 'G' // a file that is made anew; frameFile is one that stays
	frameZero   = 'O' // a block of a file that becomes zeros
	frameFinish = 'C' // a file that is whole
	frameRound  = 'R' // the end: the round, and the SHA-256 of all before
)

// staging writes a round to the log, and touches nothing else.
type staging struct {
	volume
	disk *os.File
	out  *bufio.Writer
	sum  hash.Hash
	// plain are the directories that were entered, and whether each is one here, too. In one that is not nothing is
	// here.
	plain []bool
	room  int64 // what the files may need more
	long  int64 // the longest file that the volume is known to take
}

func (v volume) stage() (sink, error) {
	if err := v.write(); err != nil {
		return nil, err
	}
	f, err := openFile(v.root, stagingFile, os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return nil, fmt.Errorf("create the log of a round: %w", err)
	}
	return &staging{volume: v, disk: f, out: bufio.NewWriterSize(f, 256<<10), sum: sha256.New()}, nil
}

func (s *staging) close() { s.disk.Close() }

func (s *staging) log(kind byte, parts ...[]byte) error {
	if err := s.write(); err != nil {
		return err
	}
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	head := binary.AppendUvarint([]byte{kind}, uint64(n))
	for _, p := range append([][]byte{head}, parts...) {
		if kind != frameRound {
			s.sum.Write(p)
		}
		if _, err := s.out.Write(p); err != nil {
			return fmt.Errorf("write the log of a round: %w", err)
		}
	}
	return nil
}

func (*staging) named(string) error { return nil }

// stat looks at what is here, nil for nothing.
func (s *staging) stat(path string) (fs.FileInfo, error) {
	if n := len(s.plain); n > 0 && !s.plain[n-1] {
		return nil, nil // os.Root would follow a link in the place of the directory
	}
	info, err := s.root.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look at %s: %w", path, err)
	}
	return info, nil
}

func (s *staging) enter(path string, e entry) error {
	info, err := s.stat(path)
	if err != nil {
		return err
	}
	s.plain = append(s.plain, info != nil && info.IsDir())
	return s.log(frameDir, e.encode())
}

func (s *staging) leave(string, meta) error {
	s.plain = s.plain[:len(s.plain)-1]
	return s.log(frameLeave)
}

func (s *staging) symlink(path string, e entry) error {
	if e.target == "" || len(e.target) >= maxPath {
		return fmt.Errorf("%w: the link %s leads to %d bytes", ErrProtocol, path, len(e.target))
	}
	return s.log(frameSymlink, e.encode())
}

func (s *staging) link(_ string, e entry) error { return s.log(frameLink, e.encode()) }

// takes makes sure that the volume can have a file so long: once the round counts it is too late.
func (s *staging) takes(size int64) error {
	if size <= s.long {
		return nil
	}
	if err := s.write(); err != nil {
		return err
	}
	f, err := openFile(s.root, probeFile, os.O_WRONLY|os.O_CREATE)
	if err != nil {
		return fmt.Errorf("create %s: %w", probeFile, err)
	}
	err = f.Truncate(size)
	if err = errors.Join(err, f.Close(), s.drop(probeFile)); err != nil {
		return fmt.Errorf("make a file of %d bytes: %w", size, err)
	}
	s.long = size
	return nil
}

// fits makes sure that the volume has room for what the files will need beside the log.
func (s *staging) fits() error {
	f, err := s.root.Open(".")
	if err != nil {
		return fmt.Errorf("open the volume: %w", err)
	}
	defer f.Close()
	var st unix.Statfs_t
	if err := unix.Fstatfs(int(f.Fd()), &st); err != nil {
		return fmt.Errorf("look at the file system of the volume: %w", err)
	}
	if has := int64(st.Bavail) * st.Bsize; has < s.room {
		return fmt.Errorf("the volume has %s left, and the round needs %s beside what is stored of it already: make it "+
			"larger", output.Bytes(has), output.Bytes(s.room))
	}
	return nil
}

func (s *staging) file(seq uint64, path string, e entry) (*incoming, error) {
	info, err := s.stat(path)
	if err != nil {
		return nil, err
	}
	is := info != nil && info.Mode().IsRegular()
	if e.same {
		if !is || info.Size() != e.size {
			return nil, fmt.Errorf("%w: %s", ErrStale, path)
		}
		return nil, s.log(frameFile, e.encode())
	}
	in := &incoming{seq: seq, path: path, size: e.size, fresh: true}
	if is {
		st, ok := info.Sys().(*syscall.Stat_t)
		in.fresh = !ok || st.Nlink != 1
		if in.file, err = openFile(s.root, path, os.O_RDONLY); err == nil {
			in.had = info.Size()
		} else if in.fresh = true; !errors.Is(err, fs.ErrPermission) {
			return nil, fmt.Errorf("open %s: %w", path, err)
		}
	}
	if err := s.takes(e.size); err != nil {
		in.close()
		return nil, err
	}
	kind := byte(frameFile)
	if in.fresh {
		kind = frameFresh
	}
	if err := s.log(kind, e.encode()); err != nil {
		in.close()
		return nil, err
	}
	return in, nil
}

// has keeps a block of a file that is made anew: the old one is gone then.
func (s *staging) has(in *incoming, block int64, b []byte) error {
	if !in.fresh {
		return nil
	}
	return s.put(in, block, b)
}

func (s *staging) put(in *incoming, block int64, b []byte) error {
	s.room += int64(len(b))
	return s.log(frameBlock, binary.AppendUvarint(binary.AppendUvarint(nil, in.seq), uint64(block)), b)
}

func (s *staging) zero(in *incoming, block int64) error {
	if in.fresh {
		return nil
	}
	return s.log(frameZero, binary.AppendUvarint(binary.AppendUvarint(nil, in.seq), uint64(block)))
}

func (s *staging) finish(in *incoming) error {
	return s.log(frameFinish, binary.AppendUvarint(nil, in.seq))
}

// end makes the log the redo log, from when on the round counts, and the files what it says.
func (s *staging) end(is Round) (Names, error) {
	text, err := json.Marshal(is)
	if err != nil {
		return Names{}, fmt.Errorf("encode a round: %w", err)
	}
	s.sum.Write(text)
	err = s.log(frameRound, s.sum.Sum(nil), text)
	if err == nil {
		err = errors.Join(s.out.Flush(), s.disk.Sync())
	}
	if err == nil {
		err = s.fits()
	}
	if err == nil {
		err = s.write()
	}
	if err != nil {
		return Names{}, fmt.Errorf("write the log of a round: %w", err)
	}
	if err := s.root.Rename(stagingFile, redoFile); err != nil {
		return Names{}, fmt.Errorf("begin to apply a round: %w", err)
	}
	if err := s.sync(standbyDir); err != nil {
		return Names{}, err
	}
	return s.replay()
}

// ErrLog is returned where the redo log of a standby cannot be read: the disk has not kept it.
var ErrLog = errors.New("the redo log of the standby cannot be read, so it holds no whole round: copy it anew")

// replay has the files of a volume be what its redo log says. It may be repeated.
func (v volume) replay() (Names, error) {
	f, err := openFile(v.root, redoFile, os.O_RDONLY)
	if err != nil {
		return Names{}, fmt.Errorf("open %s: %w", redoFile, err)
	}
	defer f.Close()
	is, err := v.checked(f)
	if err != nil {
		return Names{}, err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return Names{}, fmt.Errorf("read %s: %w", redoFile, err)
	}
	r := &replaying{inplace: inplace{volume: v, replays: true}, files: map[uint64]*incoming{}}
	err = r.run(&wire{r: bufio.NewReaderSize(f, 256<<10)})
	for _, in := range r.files {
		in.close()
	}
	if err == nil {
		err = flushDisk(v.root)
	}
	if err == nil {
		err = v.setRound(is)
	}
	if err == nil {
		err = v.drop(redoFile)
	}
	if err != nil {
		return Names{}, fmt.Errorf("apply a round: %w", err)
	}
	return r.unkept, v.sync(standbyDir)
}

// checked reads a whole redo log before anything is done by it. One that is broken is no round: it is removed, and so
// is the word that the volume holds one, since it may have been applied in part.
func (v volume) checked(f *os.File) (is Round, err error) {
	w, h := &wire{r: bufio.NewReaderSize(f, 256<<10)}, sha256.New()
	for {
		kind, payload, err := w.next()
		if err != nil {
			break
		}
		if kind != frameRound {
			h.Write(binary.AppendUvarint([]byte{kind}, uint64(len(payload))))
			h.Write(payload)
			continue
		}
		h.Write(payload[min(sha256.Size, len(payload)):])
		if len(payload) <= sha256.Size || sum(h.Sum(nil)) != sum(payload[:sha256.Size]) ||
			json.Unmarshal(payload[sha256.Size:], &is) != nil {
			break
		}
		return is, nil
	}
	if err := errors.Join(v.drop(roundFile), v.sync(standbyDir), v.drop(redoFile), v.sync(standbyDir)); err != nil {
		return Round{}, err
	}
	return Round{}, ErrLog
}

// replaying applies a log.
type replaying struct {
	inplace
	paths []level
	seq   uint64
	files map[uint64]*incoming
}

func (r *replaying) run(w *wire) error {
	for {
		kind, payload, err := w.next()
		if err != nil {
			return err
		}
		if kind == frameRound {
			return nil
		}
		if err := r.take(kind, payload); err != nil {
			return err
		}
	}
}

func (r *replaying) take(kind byte, payload []byte) error {
	f := &fields{rest: payload}
	switch kind {
	case frameLeave:
		l := r.paths[len(r.paths)-1]
		r.paths = r.paths[:len(r.paths)-1]
		return r.leave(l.path, l.meta)
	case frameBlock, frameZero, frameFinish:
		in := r.files[f.number()]
		if in == nil {
			return fmt.Errorf("%w: of no file", ErrLog)
		}
		switch kind {
		case frameBlock:
			block := f.size()
			return r.put(in, block, f.rest)
		case frameZero:
			return r.zero(in, f.size())
		}
		delete(r.files, in.seq)
		defer in.close()
		return r.finish(in)
	}
	e, err := decodeEntry(payload)
	if err != nil {
		return err
	}
	path := "."
	if len(r.paths) > 0 {
		path = join(r.paths[len(r.paths)-1].path, e.name)
		if err := r.named(e.name); err != nil {
			return err
		}
	}
	switch kind {
	case frameDir:
		r.paths = append(r.paths, level{path: path, meta: e.meta})
		return r.enter(path, e)
	case frameSymlink:
		return r.symlink(path, e)
	case frameLink:
		return r.link(path, e)
	case frameFresh:
		if err := r.removeAll(path); err != nil {
			return fmt.Errorf("replace %s: %w", path, err)
		}
	}
	in, err := r.file(r.seq, path, e)
	if in != nil {
		r.files[r.seq] = in
		r.seq++
	}
	return err
}
