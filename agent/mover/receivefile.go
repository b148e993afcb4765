package mover

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// file begins a file. It is written in place, unless it has other names here.
func (r *receiving) file(path string, e entry) error {
	info, is, err := r.clear(path, func(info fs.FileInfo) bool {
		st, ok := info.Sys().(*syscall.Stat_t)
		return info.Mode().IsRegular() && (e.same || ok && st.Nlink == 1)
	})
	if err != nil {
		return err
	}
	if e.same {
		if !is || info.Size() != e.size {
			return fmt.Errorf("%w: %s", ErrStale, path)
		}
		return r.keep(path, e.meta)
	}
	f, err := openFile(r.root, path, os.O_RDWR|os.O_CREATE)
	if errors.Is(err, fs.ErrPermission) && is && r.root.Chmod(path, 0o600) == nil {
		f, err = openFile(r.root, path, os.O_RDWR)
	}
	if err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	in := &incoming{path: path, meta: e.meta, file: f, size: e.size}
	if is {
		in.had = info.Size()
	}
	if err := f.Truncate(e.size); err != nil {
		f.Close()
		return fmt.Errorf("resize %s: %w", path, err)
	}
	if e.size == 0 {
		r.seq++
		return r.finish(in)
	}
	if len(r.files) > maxPending+1 {
		f.Close()
		return fmt.Errorf("%w: it begins more than %d files at once", ErrProtocol, maxPending)
	}
	r.files[r.seq] = in
	r.seq++
	return nil
}

// keep gives a file that has not changed its metadata.
func (r *receiving) keep(path string, m meta) error {
	f, err := openFile(r.root, path, os.O_RDONLY)
	if err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	defer f.Close()
	return r.dress(f, path, m)
}

// finish closes a file that is whole.
func (r *receiving) finish(in *incoming) error {
	defer in.file.Close()
	return r.dress(in.file, in.path, in.meta)
}

// dress gives an open file or directory its metadata. What it may not set is in the report.
func (r *receiving) dress(f *os.File, path string, m meta) error {
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("look at %s: %w", path, err)
	}
	was := metaOf(info)
	owned := was.uid == m.uid && was.gid == m.gid
	if !owned && f.Chown(int(m.uid), int(m.gid)) != nil {
		r.unkept.add(path + ": owner")
	}
	// A change of the owner takes bits of the mode off.
	if (!owned || was.mode != m.mode) && f.Chmod(fileMode(m.mode)) != nil {
		r.unkept.add(path + ": mode")
	}
	if setAttributes(f, m.attrs) != nil {
		r.unkept.add(path + ": attributes")
	}
	if !was.mtime.Equal(m.mtime) && r.root.Chtimes(path, time.Time{}, m.mtime) != nil {
		r.unkept.add(path + ": time")
	}
	return nil
}

// hashes compares a segment with what is here, and asks for what differs.
func (r *receiving) hashes(payload []byte) error {
	f := &fields{rest: payload}
	seq, index := f.number(), f.size()
	in := r.files[seq]
	if in == nil || index != in.index || index >= (in.size+segmentSize-1)/segmentSize {
		return fmt.Errorf("%w: it sends hashes that nobody awaits", ErrProtocol)
	}
	in.index++
	var seg segment
	copy(seg.zero[:], f.bytes(len(seg.zero)))
	var lacks [segmentBlocks / 8]byte
	for i := range blocksIn(in.size, index) {
		block := index*segmentBlocks + int64(i)
		if seg.isZero(i) {
			if err := r.zero(in, block); err != nil {
				return err
			}
			continue
		}
		same, err := r.holds(in, block, f.bytes(sha256.Size))
		if err != nil {
			return err
		}
		if !same {
			lacks[i/8] |= 1 << (i % 8)
			in.awaited++
		}
	}
	if err := f.whole("the hashes of a segment"); err != nil {
		return err
	}
	answer := binary.AppendUvarint(binary.AppendUvarint(nil, seq), uint64(index))
	select {
	case r.answers <- append(answer, lacks[:]...):
	case <-r.ctx.Done():
		return r.ctx.Err()
	}
	return r.whole(seq, in)
}

// holds reports whether a block is here.
func (r *receiving) holds(in *incoming, block int64, want []byte) (bool, error) {
	if block*blockSize >= in.had || len(want) != sha256.Size {
		return false, nil
	}
	b, err := readBlock(in.file, in.size, block, r.has)
	if err != nil {
		return false, err
	}
	return sha256.Sum256(b) == sum(want), nil
}

// zero makes a block nothing but zeros.
func (r *receiving) zero(in *incoming, block int64) error {
	at := block * blockSize
	if at >= in.had {
		return nil
	}
	b, err := readBlock(in.file, in.size, block, r.has)
	if err != nil || isZero(b) {
		return err
	}
	err = unix.Fallocate(int(in.file.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, at, int64(len(b)))
	if err != nil { // not every file system has holes
		_, err = in.file.WriteAt(zeros[:len(b)], at)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", in.path, err)
	}
	return nil
}

// store writes a block.
func (r *receiving) store(payload []byte) error {
	f := &fields{rest: payload}
	seq, block := f.number(), f.size()
	in := r.files[seq]
	if f.bad || in == nil || in.awaited == 0 || block >= in.index*segmentBlocks || block*blockSize >= in.size {
		return fmt.Errorf("%w: it sends a block that nobody awaits", ErrProtocol)
	}
	b, err := r.unpacker.DecodeAll(f.rest, r.block[:0])
	if err != nil || len(b) != blockLen(in.size, block) {
		return fmt.Errorf("%w: a block of %d bytes cannot be read", ErrProtocol, len(f.rest))
	}
	if _, err := in.file.WriteAt(b, block*blockSize); err != nil {
		return fmt.Errorf("write %s: %w", in.path, err)
	}
	in.awaited--
	return r.whole(seq, in)
}

// whole closes a file once it has everything.
func (r *receiving) whole(seq uint64, in *incoming) error {
	if in.awaited > 0 || in.index*segmentSize < in.size {
		return nil
	}
	delete(r.files, seq)
	return r.finish(in)
}

// verifying is the visitor that reads a copy from its disk.
type verifying struct {
	root  *os.Root
	tally tally
	buf   []byte
}

func (v *verifying) enter(path string, _ fs.FileInfo) error {
	v.tally.add(frameDir, path, 0, nil)
	return nil
}
func (v *verifying) leave(string, fs.FileInfo) error { return nil }
func (v *verifying) skip(string)                     {}

func (v *verifying) link(path string, _ fs.FileInfo, first string) error {
	v.tally.add(frameLink, path, 0, []byte(first))
	return nil
}

func (v *verifying) symlink(path string, _ fs.FileInfo) error {
	target, err := v.root.Readlink(path)
	if err != nil {
		return fmt.Errorf("read the link %s: %w", path, err)
	}
	v.tally.add(frameSymlink, path, 0, []byte(target))
	return nil
}

func (v *verifying) file(path string, _ fs.FileInfo) error {
	f, err := openFile(v.root, path, os.O_RDONLY)
	if err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("look at %s: %w", path, err)
	}
	// What the flush has written leaves the memory, so that the disk is read.
	_ = unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED) // only advice: without it the check sees less
	c := newContent()
	for i := range (info.Size() + segmentSize - 1) / segmentSize {
		seg, err := readSegment(f, info.Size(), i, v.buf)
		if err != nil {
			return err
		}
		c.add(seg)
	}
	what := c.sum()
	v.tally.add(frameFile, path, info.Size(), what[:])
	return nil
}
