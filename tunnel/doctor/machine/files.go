package machine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"skerry.dev/skerry/tunnel/doctor"
)

// maxNamed bounds the files that a finding names.
const maxNamed = 3

// directory visits all files: who may not do that can say little else.
func (m *machine) directory(ctx context.Context) []doctor.Finding {
	if m.missing() {
		return m.notThere()
	}
	top, err := os.Stat(m.Dir)
	if err != nil {
		return one(unreadable.Fails("%s: %s", m.Dir, cause(err)))
	}
	w := &walk{owner: ownerOf(top)}
	err = filepath.WalkDir(m.Dir, func(path string, d fs.DirEntry, err error) error {
		return errors.Join(ctx.Err(), w.visit(path, d, err))
	})
	for _, path := range m.Private {
		err = errors.Join(err, w.private(path))
	}
	switch {
	case errors.Is(err, fs.ErrPermission):
		return one(unreadable.Fails("%s: permission denied", m.Dir))
	case err != nil:
		return one(diskBroken.Fails("%s: %s", m.Dir, cause(err)))
	}
	m.walk = w
	return one(doctor.Good("%s has %d files", m.Dir, w.seen))
}

func (m *machine) files(context.Context) []doctor.Finding {
	if m.walk == nil {
		return m.notThere()
	}
	return m.walk.findings(m.Dir)
}

// walk is what was seen of the files.
type walk struct {
	owner               string // of the directory
	foreign, open, shut paths
	lent                paths // elsewhere, and others may read it
	seen                int
}

// paths are the first of many, and how many they are.
type paths struct {
	first []string
	n     int
}

func (p *paths) add(format string, args ...any) {
	if p.n++; p.n <= maxNamed {
		p.first = append(p.first, fmt.Sprintf(format, args...))
	}
}

func (p *paths) String() string {
	text := strings.Join(p.first, ", ")
	if more := p.n - len(p.first); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

func (w *walk) visit(path string, d fs.DirEntry, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	info, err := d.Info()
	if errors.Is(err, fs.ErrNotExist) { // a running service has taken it away
		return nil
	} else if err != nil {
		return err
	}
	w.judge(path, info, true)
	return nil
}

// private visits what lies elsewhere; its owner is not the service.
func (w *walk) private(path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	if !info.IsDir() {
		w.judge(path, info, false)
		return nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	w.judge(path, info, false)
	if info.Mode().Perm()&0o077 == 0 {
		return nil // nobody gets to what is below
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			w.judge(filepath.Join(path, e.Name()), info, false)
		}
	}
	return nil
}

func (w *walk) judge(path string, info fs.FileInfo, ours bool) {
	if !info.IsDir() && !info.Mode().IsRegular() {
		return
	}
	w.seen++
	mode, need := info.Mode().Perm(), os.FileMode(0o400)
	if info.IsDir() {
		need = 0o700
	}
	if owner := ownerOf(info); ours && owner != w.owner {
		w.foreign.add("%s (%s's)", path, name(owner))
	}
	switch {
	case mode&0o077 == 0:
	case !ours && mode&0o022 == 0: // who made it may know all who have an account here
		w.lent.add("%s (mode %04o)", path, mode)
	default:
		w.open.add("%s (mode %04o)", path, mode)
	}
	if ours && mode&need != need {
		w.shut.add("%s (mode %04o)", path, mode)
	}
}

func (w *walk) findings(dir string) (out []doctor.Finding) {
	if w.foreign.n > 0 {
		who := name(w.owner)
		out = append(out, wrongOwner.Fails("%s is %s's, and not so: %s", dir, who, &w.foreign).
			Do("chown -R %s: %s; start the service by systemctl alone, never as another user", who, dir))
	}
	if w.open.n > 0 {
		out = append(out, openMode.Fails("others may use %s", &w.open).Do("chmod -R go= %s", dirs(w.open.first)))
	}
	if w.lent.n > 0 {
		out = append(out, openMode.Warns("others may read %s", &w.lent).Do("chmod -R go= %s", dirs(w.lent.first)))
	}
	if w.shut.n > 0 {
		out = append(out, shutMode.Fails("the owner may not use %s", &w.shut).Do("chmod -R u+rwX %s", dir))
	}
	if len(out) == 0 {
		out = one(doctor.Good("%d files, all of %s alone", w.seen, name(w.owner)))
	}
	return out
}

// dirs are the paths of what was named.
func dirs(named []string) string {
	var out []string
	for _, text := range named {
		path, _, _ := strings.Cut(text, " (mode")
		out = append(out, path)
	}
	return strings.Join(out, " ")
}

func ownerOf(info fs.FileInfo) string {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return strconv.FormatUint(uint64(s.Uid), 10)
	}
	return ""
}

// name is the user of a number, or the number.
func name(uid string) string {
	if u, err := user.LookupId(uid); err == nil {
		return u.Username
	}
	return cmp.Or(uid, "nobody")
}
