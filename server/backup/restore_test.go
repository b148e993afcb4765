package backup

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/restore"
)

// locked is plain with a lock that is free unless held is set.
func locked(held *error) Database {
	d := plain
	d.LockFile = "lock"
	d.Lock = func(dir string) (func() error, error) {
		_ = os.WriteFile(filepath.Join(dir, "lock"), nil, 0o600)
		return func() error { return nil }, *held
	}
	return d
}

// What is in a data directory is replaced only when that is said and no center runs there. It is
// moved aside as a whole.
func TestReplaceADirectory(t *testing.T) {
	file, dir := taken(t), center(t)
	was := files(t, dir)
	var held error
	o := RestoreOptions{File: file, Dir: dir, Database: locked(&held)}
	if _, err := Restore(t.Context(), o); !errors.Is(err, ErrInUse) {
		t.Errorf("over a center: %v", err)
	}
	o.Replace = true
	held = errors.New("a center runs")
	if _, err := Restore(t.Context(), o); !errors.Is(err, held) {
		t.Errorf("beneath a center: %v", err)
	}
	held = nil
	o.DryRun = true
	if r, err := Restore(t.Context(), o); err != nil || r.Held == "nothing" || r.Revision != 17 {
		t.Errorf("tried: %+v, %v", r, err)
	}
	if got := files(t, dir); !maps.Equal(got, was) {
		t.Errorf("until then the directory holds %v, want %v", got, was)
	}
	o.DryRun = false
	r, err := Restore(t.Context(), o)
	if err != nil || filepath.Dir(r.Aside) != dir {
		t.Fatalf("replaced: %+v, %v", r, err)
	}
	delete(was, "lock")
	if got := files(t, r.Aside); !maps.Equal(got, was) {
		t.Errorf("aside is %v, want %v", got, was)
	}
	got := slices.Sorted(maps.Keys(files(t, dir)))
	got = slices.DeleteFunc(
		got,
		func(name string) bool { return strings.HasPrefix(name, filepath.Base(r.Aside)) },
	)
	want := []string{
		"lock",
		"pki/authorities.json",
		"pki/ca-1/server-ca.key",
		"state.db",
		"uplink/agent.key",
	}
	if !slices.Equal(got, want) {
		t.Errorf("restored %v, want %v", got, want)
	}
}

// A restore that breaks off at any of its steps leaves a directory that says so, and that another
// one makes whole.
func TestBrokenOffInADirectory(t *testing.T) {
	file, dir := taken(t), t.TempDir()
	if err := Unfinished(dir); err != nil {
		t.Errorf("an empty directory: %v", err)
	}
	write(t, filepath.Join(dir, ".restore-1", "pki", "ca.key"), []byte("not in its place"))
	write(t, filepath.Join(dir, "state.db"), []byte("abc 17"))
	if err := Unfinished(
		dir,
	); !errors.Is(err, ErrUnfinished) ||
		!strings.Contains(err.Error(), ".restore-1") {
		t.Errorf("a part has not taken its place: %v", err)
	}
	var free error
	o := RestoreOptions{File: file, Dir: dir, Database: locked(&free)}
	if _, err := Restore(t.Context(), o); !errors.Is(err, ErrUnfinished) {
		t.Errorf("restored over it: %v", err)
	}
	o.Replace = true
	if _, err := Restore(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if err := Unfinished(dir); err != nil {
		t.Errorf("restored again: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, ".restore-1")); !os.IsNotExist(err) {
		t.Errorf("what has broken off is still there: %v", err)
	}
	if got := files(t, dir)["pki/authorities.json"]; got != "{}" {
		t.Errorf("the keys are %q", got)
	}
}

// replicas is a datastore in memory.
type replicas struct {
	there   restore.There
	written []string
	options restore.Options
}

func (r *replicas) Look(context.Context) (restore.There, error) { return r.there, nil }

func (r *replicas) Restore(_ context.Context, file, keys string, o restore.Options) error {
	r.options = o
	for _, path := range []string{file, filepath.Join(keys, "authorities.json")} {
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		r.written = append(r.written, string(data))
	}
	return nil
}

func TestRestoreForReplicas(t *testing.T) {
	relays := taken(t)
	file, from := filepath.Join(t.TempDir(), "b.skerry"), center(t)
	if err := os.RemoveAll(filepath.Join(from, "uplink")); err != nil {
		t.Fatal(err)
	}
	if _, err := Take(t.Context(), TakeOptions{Dir: from, File: file, Database: plain}); err != nil {
		t.Fatal(err)
	}
	other := store.NewIncarnation()
	dir := filepath.Join(t.TempDir(), "none")
	for _, c := range []struct {
		name      string
		file      string
		there     restore.There
		replace   bool
		dry       bool
		want      error
		held      string
		restoring bool
	}{
		{name: "empty", file: file, held: "nothing", restoring: true},
		{name: "tried", file: file, dry: true, held: "nothing"},
		{name: "a center", file: file, there: restore.There{Incarnation: &other}, want: restore.ErrNotEmpty},
		{name: "tried on a center", file: file, there: restore.There{Incarnation: &other}, dry: true,
			want: restore.ErrNotEmpty},
		{name: "replaced", file: file, there: restore.There{Incarnation: &other, Revision: 9}, replace: true,
			held: fmt.Sprintf("center %s up to revision 9", other), restoring: true},
		{name: "a relay's backup", file: relays, want: ErrRelay, held: "nothing"},
	} {
		r := &replicas{there: c.there}
		got, err := Restore(
			t.Context(),
			RestoreOptions{File: c.file, Dir: dir, Into: r, Replace: c.replace, DryRun: c.dry,
				Database: plain},
		)
		if !errors.Is(err, c.want) || c.want == nil && got.Held != c.held {
			t.Errorf("%s: %+v, %v", c.name, got, err)
		}
		if c.restoring != slices.Equal(r.written, []string{"abc 17", "{}"}) ||
			r.options.Replace != (c.restoring && c.replace) {
			t.Errorf("%s: written %q with %+v", c.name, r.written, r.options)
		}
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("a data directory was made: %v", err)
	}
	damaged, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	damaged[len(damaged)/2] ^= 1
	write(t, file, damaged)
	r := &replicas{}
	if _, err := Restore(
		t.Context(),
		RestoreOptions{File: file, Into: r, Database: plain},
	); err == nil ||
		len(r.written) > 0 {
		t.Errorf("a damaged backup: %v, written %q", err, r.written)
	}
}
