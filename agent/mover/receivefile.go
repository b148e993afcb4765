package mover

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
)

// file begins a file.
func (r *receiving) file(path string, e entry) error {
	if !e.same && len(r.files) > maxPending+1 {
		return fmt.Errorf("%w: it begins more than %d files at once", ErrProtocol, maxPending)
	}
	in, err := r.to.file(r.seq, path, e)
	r.is.Files++
	r.is.Bytes += e.size
	if err != nil || in == nil {
		return err
	}
	r.seq++
	if in.part = newPart(); r.parts != nil {
		fromDisk(in.file)
	}
	if e.size == 0 {
		return r.finish(in)
	}
	r.files[in.seq] = in
	return nil
}

// finish ends a file that is whole.
func (r *receiving) finish(in *incoming) error {
	defer in.close()
	if err := r.to.finish(in); err != nil || r.parts == nil {
		return err
	}
	return r.parts.add(in)
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
	in.content.h.Write(seg.zero[:])
	var lacks [segmentBlocks / 8]byte
	for i := range blocksIn(in.size, index) {
		block := index*segmentBlocks + int64(i)
		if seg.isZero(i) {
			if err := r.zero(in, block); err != nil {
				return err
			}
			continue
		}
		want := f.bytes(sha256.Size)
		in.content.h.Write(want)
		has, err := r.holds(in, block, want)
		if err != nil {
			return err
		}
		if has != nil {
			if err := r.to.has(in, block, has); err != nil {
				return err
			}
		} else {
			lacks[i/8] |= 1 << (i % 8)
			in.awaited++
			w := written{block: block}
			copy(w.sum[:], want)
			r.parts.wrote(&in.part, w)
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

// holds returns a block that is here, nil where another one is.
func (r *receiving) holds(in *incoming, block int64, want []byte) ([]byte, error) {
	if block*blockSize >= in.had || len(want) != sha256.Size {
		return nil, nil
	}
	b, err := readBlock(in.file, in.size, block, r.buf)
	if err != nil || sha256.Sum256(b) != sum(want) {
		return nil, err
	}
	return b, nil
}

// zero makes a block nothing but zeros.
func (r *receiving) zero(in *incoming, block int64) error {
	if block*blockSize >= in.had {
		return nil
	}
	b, err := readBlock(in.file, in.size, block, r.buf)
	if err != nil || isZero(b) {
		return err
	}
	r.parts.wrote(&in.part, written{block: block, zero: true})
	return r.to.zero(in, block)
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
	if err := r.to.put(in, block, b); err != nil {
		return err
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
