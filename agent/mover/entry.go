package mover

import (
	"encoding/binary"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Bounds of what one entry may have.
const (
	maxName   = 255
	maxPath   = 4096
	maxDepth  = 256
	maxNames  = 1_000_000 // in one directory
	maxAttrs  = 64
	maxAttr   = 64 << 10 // bytes of all attributes
	separator = "/"
)

// meta is what is kept of an entry beside its content.
type meta struct {
	mode     uint32 // permissions, set-user-ID, set-group-ID, sticky, as in stat(2)
	uid, gid uint32
	mtime    time.Time
	attrs    map[string]string // extended attributes
}

// entry is one name in a directory.
type entry struct {
	name   string
	meta   meta
	size   int64  // of a file
	same   bool   // a file that is as an earlier round has left it
	target string // of a symbolic link, or the path of the file that has this name, too
}

func (e entry) encode() []byte {
	b := appendText(nil, e.name)
	b = binary.AppendUvarint(b, uint64(e.meta.mode))
	b = binary.AppendUvarint(b, uint64(e.meta.uid))
	b = binary.AppendUvarint(b, uint64(e.meta.gid))
	b = binary.AppendVarint(b, e.meta.mtime.Unix())
	b = binary.AppendUvarint(b, uint64(e.meta.mtime.Nanosecond()))
	b = binary.AppendUvarint(b, uint64(len(e.meta.attrs)))
	for _, k := range slices.Sorted(maps.Keys(e.meta.attrs)) {
		b = appendText(appendText(b, k), e.meta.attrs[k])
	}
	b = binary.AppendUvarint(b, uint64(e.size))
	b = append(b, 0)
	if e.same {
		b[len(b)-1] = 1
	}
	return appendText(b, e.target)
}

func decodeEntry(payload []byte) (e entry, err error) {
	f := &fields{rest: payload}
	e.name = f.text(maxName)
	e.meta.mode, e.meta.uid, e.meta.gid = uint32(f.number()), uint32(f.number()), uint32(f.number())
	e.meta.mtime = time.Unix(f.signed(), int64(f.number()%1e9))
	count := f.number()
	if count > maxAttrs {
		f.bad = true
		count = 0
	}
	for range count {
		name := f.text(maxName)
		value := f.text(maxAttr)
		if e.meta.attrs == nil {
			e.meta.attrs = map[string]string{}
		}
		e.meta.attrs[name] = value
	}
	e.size = f.size()
	if b := f.bytes(1); len(b) == 1 {
		e.same = b[0] == 1
	}
	e.target = f.text(maxPath)
	if err := f.whole("an entry"); err != nil {
		return entry{}, err
	}
	if !plainName(e.name) {
		return entry{}, fmt.Errorf("%w: the name %q", ErrProtocol, e.name)
	}
	return e, nil
}

// plainName reports whether a name leads to an entry of the directory that it is looked up in.
func plainName(name string) bool {
	return name != "" && name != "." && name != ".." && len(name) <= maxName && !strings.ContainsAny(name, "/\x00")
}

// join is the path of a name in a directory; that of the volume's own directory is ".".
func join(dir, name string) string {
	if dir == "." {
		return name
	}
	return dir + separator + name
}

func metaOf(info fs.FileInfo) meta {
	m := meta{mtime: info.ModTime()}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		m.mode, m.uid, m.gid = st.Mode&0o7777, st.Uid, st.Gid
	}
	return m
}

// fileMode is a mode as package os has it.
func fileMode(mode uint32) os.FileMode {
	m := os.FileMode(mode & 0o777)
	for bit, is := range map[uint32]os.FileMode{0o4000: os.ModeSetuid, 0o2000: os.ModeSetgid, 0o1000: os.ModeSticky} {
		if mode&bit != 0 {
			m |= is
		}
	}
	return m
}
