package main

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// archive is the program tar, as far as kubectl cp runs it in a container: it writes named files to
// standard output, or makes what comes from standard input below a directory.
func archive(args []string) error {
	mode, dir := "", "."
	var names []string
	for i := 0; i < len(args); i++ {
		switch a := args[i]; {
		case i == 0 && !strings.HasPrefix(a, "-"),
			strings.HasPrefix(a, "-") && strings.Contains(a, "f"):
			mode = strings.ReplaceAll(strings.TrimPrefix(a, "-"), "m", "") // times are never kept
			if i++; i == len(args) || args[i] != "-" {
				return errors.New("-f knows only -, standard input and output")
			}
		case a == "-C" && i+1 < len(args):
			i++
			dir = args[i]
		case a == "--no-same-permissions", a == "--no-same-owner":
		case strings.HasPrefix(a, "-"):
			return fmt.Errorf("no option %s", a)
		default:
			names = append(names, a)
		}
	}
	switch mode {
	case "cf":
		return pack(os.Stdout, names)
	case "xf":
		return unpack(os.Stdin, dir)
	}
	return errors.New("want cf - FILE..., or xf - [-C DIRECTORY]")
}

// pack writes files, and directories with all that is in them.
func pack(to io.Writer, names []string) error {
	out := tar.NewWriter(to)
	for _, name := range names {
		err := filepath.WalkDir(name, func(name string, _ fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			return packOne(out, name)
		})
		if err != nil {
			return err
		}
	}
	return out.Close()
}

func packOne(out *tar.Writer, name string) error {
	info, err := os.Lstat(name)
	if err != nil {
		return err
	}
	link := ""
	if info.Mode()&fs.ModeSymlink != 0 {
		if link, err = os.Readlink(name); err != nil {
			return err
		}
	}
	header, err := tar.FileInfoHeader(info, link)
	if err != nil {
		return err
	}
	header.Name = strings.TrimPrefix(name, "/")
	if err := out.WriteHeader(header); err != nil || !info.Mode().IsRegular() {
		return err
	}
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = io.Copy(out, file)
	return err
}

// unpack makes files and directories, and nothing outside of dir.
func unpack(from io.Reader, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for in := tar.NewReader(from); ; {
		header, err := in.Next()
		if err == io.EOF {
			_, err = io.Copy(io.Discard, from) // or who writes is told of a broken pipe
			return err
		}
		if err != nil {
			return err
		}
		if err := unpackOne(root, in, header); err != nil {
			return fmt.Errorf("%s: %w", header.Name, err)
		}
	}
}

func unpackOne(root *os.Root, in io.Reader, header *tar.Header) error {
	name := path.Clean(header.Name)
	switch header.Typeflag {
	case tar.TypeDir:
		return root.MkdirAll(name, header.FileInfo().Mode().Perm())
	case tar.TypeReg:
	default:
		return fmt.Errorf("no way to make an entry of type %q", header.Typeflag)
	}
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	file, err := root.OpenFile(
		name,
		os.O_CREATE|os.O_WRONLY|os.O_TRUNC,
		header.FileInfo().Mode().Perm(),
	)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, in)
	return errors.Join(err, file.Close())
}

// test is the program of that name, as far as kubectl cp runs it: test -d FILE.
func test(args []string) error {
	if len(args) != 2 || args[0] != "-d" {
		return errors.New("want -d FILE")
	}
	info, err := os.Stat(args[1])
	if err == nil && !info.IsDir() {
		err = errors.New("no directory")
	}
	return err
}
