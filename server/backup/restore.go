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
)

// RestoreOptions say which backup becomes which data directory.
type RestoreOptions struct {
	File     string
	Dir      string // must be missing or empty
	Outside  Outside
	Database Database
}

// Restore makes a data directory of a backup and returns what that says of itself. Its files take
// their place when all of them have been checked and are on the disk; the database does so first,
// and without its keys no center starts on it. They belong to whom the directory belongs to.
func Restore(ctx context.Context, o RestoreOptions) (m Manifest, err error) {
	file, err := os.Open(o.File)
	if err != nil {
		return m, fmt.Errorf("open the backup: %w", err)
	}
	defer file.Close()
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return m, fmt.Errorf("make the data directory: %w", err)
	}
	if entries, err := os.ReadDir(o.Dir); err != nil {
		return m, fmt.Errorf("look at the data directory: %w", err)
	} else if len(entries) > 0 {
		return m, fmt.Errorf("%w: %s", ErrInUse, o.Dir)
	}
	tmp, err := os.MkdirTemp(o.Dir, ".restore-*") // mode 0700
	if err != nil {
		return m, fmt.Errorf("write the data directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	if m, err = unpack(ctx, file, tmp, o.Database.File); err != nil {
		return m, fmt.Errorf("%s: %w", o.File, err)
	}
	incarnation, revision, err := o.Database.Inspect(ctx, filepath.Join(tmp, o.Database.File))
	if err == nil && (incarnation != m.Incarnation || revision != m.Revision) {
		err = fmt.Errorf("its database is %s@%d and not %s@%d", incarnation, revision, m.Incarnation, m.Revision)
	}
	if err != nil {
		return m, fmt.Errorf("%s: %w: %w", o.File, ErrNotABackup, err)
	}
	if err := o.Database.Opens(ctx, filepath.Join(tmp, o.Database.File), tmp, o.Outside); err != nil {
		return m, fmt.Errorf("%s: %w: %w", o.File, ErrNoKey, err)
	}
	return m, place(tmp, o.Dir, o.Database.File)
}

// unpack writes the files of an archive into dir and holds them against their digests.
func unpack(ctx context.Context, r io.Reader, dir, database string) (m Manifest, err error) {
	z, err := zstd.NewReader(
		&untilDone{ctx, r},
		zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderMaxMemory(64<<20),
		zstd.WithDecoderMaxWindow(32<<20),
	)
	if err != nil {
		return m, err
	}
	defer z.Close()
	in := &reader{tar: tar.NewReader(z), dir: dir, database: database, left: maxKept}
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
	manifest bytes.Buffer
	sums     strings.Builder
	seen     []string
}

// take writes one file, durably.
func (in *reader) take(ctx context.Context, h *tar.Header) error {
	known := h.Name == manifestFile || h.Name == in.database || isKey(h.Name) ||
		strings.HasPrefix(h.Name, uplinkDir+"/")
	if h.Typeflag != tar.TypeReg || !known || !filepath.IsLocal(h.Name) || slices.Contains(in.seen, h.Name) {
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
	if h.Name == manifestFile {
		_, err = io.Copy(io.MultiWriter(&in.manifest, sum), in.tar)
	} else {
		err = in.write(filepath.Join(in.dir, filepath.FromSlash(h.Name)), io.TeeReader(in.tar, sum))
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

// notSound tells a broken archive from a disk that is full and a user that has had enough.
func notSound(ctx context.Context, err error) error {
	var disk *os.PathError
	if ctx.Err() != nil || errors.As(err, &disk) {
		return err
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("%w: %w", ErrNotABackup, err)
}
