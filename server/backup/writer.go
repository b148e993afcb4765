package backup

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/klauspost/compress/zstd"
)

// writer writes an archive and remembers the digests of what is in it.
type writer struct {
	out  *os.File
	zstd *zstd.Encoder
	tar  *tar.Writer
	sums bytes.Buffer
	at   time.Time
}

func newWriter(path string) (*writer, error) {
	out, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	z, err := zstd.NewWriter(out, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedDefault))
	if err != nil {
		return nil, errors.Join(err, out.Close())
	}
	return &writer{out: out, zstd: z, tar: tar.NewWriter(z), at: time.Now()}, nil
}

func (w *writer) bytes(name string, data []byte) error {
	return w.add(name, int64(len(data)), bytes.NewReader(data))
}

func (w *writer) file(ctx context.Context, name, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return w.add(name, info.Size(), &untilDone{ctx, f})
}

func (w *writer) add(name string, size int64, content io.Reader) error {
	if err := w.tar.WriteHeader(
		&tar.Header{Name: name, Size: size, Mode: 0o600, ModTime: w.at, Format: tar.FormatPAX},
	); err != nil {
		return err
	}
	sum := sha256.New()
	if _, err := io.Copy(io.MultiWriter(w.tar, sum), content); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	fmt.Fprintf(&w.sums, "%x  %s\n", sum.Sum(nil), name)
	return nil
}

// close writes the digests last: an archive without them was not finished.
func (w *writer) close() error {
	return errors.Join(
		w.bytes(sumsFile, bytes.Clone(w.sums.Bytes())),
		w.tar.Close(),
		w.zstd.Close(),
		w.out.Sync(),
		w.out.Close(),
	)
}

// untilDone is a reader that ends with its context.
type untilDone struct {
	ctx context.Context
	io.Reader
}

// Read implements io.Reader.
func (r *untilDone) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}
