package mover

import (
	"bytes"
	"errors"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// kept reports whether an extended attribute is copied. What a security module says of a file is of its machine.
func kept(name string) bool {
	for _, prefix := range []string{"user.", "trusted.", "security.capability", "system.posix_acl_"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// attributes returns those of a path, none where they cannot be read.
func attributes(root *os.Root, path string, flag int) map[string]string {
	f, err := openFile(root, path, os.O_RDONLY|flag)
	if err != nil {
		return nil
	}
	defer f.Close()
	return attributesOf(f)
}

// attributesOf returns those of an open file, as far as they are within the bounds of an entry.
func attributesOf(f *os.File) map[string]string {
	fd := int(f.Fd())
	if n, err := unix.Flistxattr(fd, nil); err != nil || n == 0 {
		return nil // as most files, which cost no memory
	}
	list := make([]byte, maxAttr)
	n, err := unix.Flistxattr(fd, list)
	if err != nil {
		return nil
	}
	out, total := map[string]string{}, 0
	value := make([]byte, maxAttr)
	for name := range bytes.SplitSeq(bytes.TrimRight(list[:n], "\x00"), []byte{0}) {
		if !kept(string(name)) {
			continue
		}
		n, err := unix.Fgetxattr(fd, string(name), value)
		if err != nil || len(out) == maxAttrs || total+n+len(name) > maxAttr {
			continue
		}
		out[string(name)] = string(value[:n])
		total += n + len(name)
	}
	return out
}

// setAttributes gives an open file exactly these attributes.
func setAttributes(f *os.File, want map[string]string) (err error) {
	has, fd := attributesOf(f), int(f.Fd())
	for name := range has {
		if _, ok := want[name]; !ok {
			err = errors.Join(err, unix.Fremovexattr(fd, name))
		}
	}
	for name, value := range want {
		if is, ok := has[name]; kept(name) && (!ok || is != value) {
			err = errors.Join(err, unix.Fsetxattr(fd, name, []byte(value), 0))
		}
	}
	return err
}
