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
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"

	"skerry.dev/skerry/server/backup/destination"
)

// Verify reads a backup to its end and returns what it says of itself. An error is that it is not
// what was written. database is the name of the database's file.
func Verify(ctx context.Context, path, database string) (Manifest, error) {
	f, err := os.Open(path)
	if err != nil {
		return Manifest{}, err
	}
	defer f.Close()
	return unpack(ctx, f, "", database)
}

// unpack writes the files of an archive into dir and holds them against their digests. An empty dir
// writes nothing.
func unpack(ctx context.Context, r io.Reader, dir, database string) (m Manifest, err error) {
	packed := &counted{Reader: &untilDone{ctx, r}}
	z, err := zstd.NewReader(
		packed,
		zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderMaxMemory(64<<20),
		zstd.WithDecoderMaxWindow(32<<20),
	)
	if err != nil {
		return m, err
	}
	defer z.Close()
	in := &reader{tar: tar.NewReader(z), dir: dir, database: database, left: maxKept, packed: packed}
	for {
		h, err := in.tar.Next()
		if err != nil {
			return m, notSound(ctx, err) // also io.EOF: the digests come last
		}
		if len(in.seen) == 0 && h.Name != manifestFile {
			return m, fmt.Errorf("%w: it does not begin with %s", ErrNotABackup, manifestFile)
		}
		if h.Name == sumsFile {
			return m, errors.Join(in.end(ctx), atEnd(ctx, z))
		}
		if err := in.take(ctx, h); err != nil {
			return m, err
		}
		if h.Name == manifestFile {
			if m, err = readManifest(in.manifest.Bytes()); err != nil {
				return m, err
			}
		}
	}
}

// reader takes an archive apart.
type reader struct {
	tar      *tar.Reader
	dir      string
	database string
	left     int64 // bytes that files other than the database may still have
	packed   *counted
	unpacked int64
	manifest bytes.Buffer
	sums     strings.Builder
	seen     []string
}

// A database that is packed is at least a part of this size of what it is unpacked. Real ones are
// a tenth and more. A database of some size is unpacked in any case.
const (
	smallDatabase = 1 << 30
	mostPacked    = 256
)

// counted counts what is read.
type counted struct {
	io.Reader
	n int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n += int64(n)
	return n, err
}

// believable reads the content of the archive, and ends where a few bytes become too many: such an
// archive is made to fill the disk.
type believable struct{ *reader }

func (b believable) Read(p []byte) (int, error) {
	n, err := b.tar.Read(p)
	if b.unpacked += int64(n); b.unpacked > smallDatabase+mostPacked*b.packed.n {
		return n, fmt.Errorf("%d bytes of it became more than %d", b.packed.n, b.unpacked-int64(n))
	}
	return n, err
}

// take writes one file, durably.
func (in *reader) take(ctx context.Context, h *tar.Header) error {
	known := h.Name == manifestFile || h.Name == in.database || isKey(h.Name) ||
		strings.HasPrefix(h.Name, uplinkDir+"/")
	if h.Typeflag != tar.TypeReg || !known || !filepath.IsLocal(h.Name) ||
		slices.Contains(in.seen, h.Name) {
		return fmt.Errorf("%w: it has the file %q", ErrNotABackup, h.Name)
	}
	if h.Name != in.database {
		if in.left -= h.Size; in.left < 0 {
			return fmt.Errorf("%w: %q is too large", ErrNotABackup, h.Name)
		}
	}
	in.seen = append(in.seen, h.Name)
	sum := sha256.New()
	var err error
	switch {
	case h.Name == manifestFile:
		_, err = io.Copy(io.MultiWriter(&in.manifest, sum), believable{in})
	case in.dir == "":
		_, err = io.Copy(sum, believable{in})
	default:
		err = in.write(filepath.Join(in.dir, filepath.FromSlash(h.Name)), io.TeeReader(believable{in}, sum))
	}
	if err != nil {
		return notSound(ctx, err)
	}
	fmt.Fprintf(&in.sums, "%x  %s\n", sum.Sum(nil), h.Name)
	return nil
}

func (in *reader) write(path string, content io.Reader) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	err = errors.Join(err, f.Sync(), f.Close(), syncDir(filepath.Dir(path)))
	return err
}

// end holds what was read against the digests, to the end of the file.
func (in *reader) end(ctx context.Context) error {
	const lineLimit = 512
	want, err := io.ReadAll(io.LimitReader(in.tar, int64(len(in.seen)+1)*lineLimit))
	if err == nil {
		_, err = in.tar.Next()
		if err == nil {
			return fmt.Errorf("%w: something follows its digests", ErrNotABackup)
		}
	}
	if !errors.Is(err, io.EOF) {
		return notSound(ctx, err)
	}
	if string(want) != in.sums.String() {
		return fmt.Errorf("%w: its digests are not those of its files", ErrNotABackup)
	}
	return nil
}

// atEnd reads the padding that an archive ends with, so that the last bytes of the file are looked
// at, too.
func atEnd(ctx context.Context, r io.Reader) error {
	const padding = 1 << 20
	if n, err := io.Copy(io.Discard, io.LimitReader(r, padding)); err != nil {
		return notSound(ctx, err)
	} else if n == padding {
		return fmt.Errorf("%w: something follows its end", ErrNotABackup)
	}
	return nil
}

// notSound tells a broken archive from a disk that is full, a bucket that is away and a user that
// has had enough.
func notSound(ctx context.Context, err error) error {
	var disk *os.PathError
	var away *destination.ReadError
	if ctx.Err() != nil || errors.As(err, &disk) || errors.As(err, &away) {
		return err
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("%w: %w", ErrNotABackup, err)
}
