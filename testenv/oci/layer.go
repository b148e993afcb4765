package oci

import (
	"archive/tar"
	"fmt"
	"io"
	"os"
	"strings"
)

// File is a file or directory of a layer.
type File struct {
	// Path is absolute in the image. A path that ends in a slash is a directory.
	Path string
	// Source is the file on this machine that it is a copy of.
	Source string
	// Link is the path in the image that a symbolic link leads to; it has no Source.
	Link string
	// Mode are the permission bits, with 0o1000 for sticky.
	Mode int64
}

// writeLayer writes the files as a tar in which everything belongs to root and
// nothing has a time.
func writeLayer(w io.Writer, files []File) error {
	t := tar.NewWriter(w)
	for _, f := range files {
		if err := addFile(t, f); err != nil {
			return fmt.Errorf("add %s: %w", f.Path, err)
		}
	}
	return t.Close()
}

func addFile(t *tar.Writer, f File) error {
	header := &tar.Header{Name: strings.TrimPrefix(f.Path, "/"), Mode: f.Mode, Format: tar.FormatPAX}
	if strings.HasSuffix(f.Path, "/") {
		header.Typeflag = tar.TypeDir
		return t.WriteHeader(header)
	}
	if f.Link != "" {
		header.Typeflag, header.Linkname = tar.TypeSymlink, f.Link
		return t.WriteHeader(header)
	}
	source, err := os.Open(f.Source)
	if err != nil {
		return err
	}
	defer source.Close()
	info, err := source.Stat()
	if err != nil {
		return err
	}
	header.Typeflag, header.Size = tar.TypeReg, info.Size()
	if err := t.WriteHeader(header); err != nil {
		return err
	}
	_, err = io.Copy(t, source)
	return err
}
