package admin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"skerry.dev/skerry/tunnel/commandline"
)

// exportTo writes an export to o.Out when it is whole, and what is said of it to told.
func exportTo(ctx context.Context, o ExportOptions, told io.Writer) error {
	return besideFile(func(path string) error {
		out := o.Out
		o.File, o.Piped, o.Out = path, true, told
		if err := ExportSpace(ctx, o); err != nil {
			return err
		}
		f, err := os.Open(filepath.Clean(path))
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = io.Copy(out, f)
		return err
	})
}

// importFrom imports what it reads, which is kept in a file meanwhile: an import reads it twice.
func importFrom(ctx context.Context, o ImportOptions, in io.Reader) error {
	return besideFile(func(path string) error {
		f, err := os.OpenFile(filepath.Clean(path), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		_, err = io.Copy(f, in)
		if err = errors.Join(err, f.Close()); err != nil {
			return fmt.Errorf("read the export: %w", err)
		}
		o.File, o.Piped = path, true
		return ImportSpace(ctx, o)
	})
}

// besideFile calls do with the path of a file that nobody else may read, and removes it afterwards. An
// export has the Secrets of its space.
func besideFile(do func(path string) error) (err error) {
	dir, err := os.MkdirTemp("", "skerry-space-*") // mode 0700
	if err != nil {
		return fmt.Errorf("make room for the export: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "export")
	return commandline.KnownAs(do(path), path, "the export that is piped")
}
