package backup

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// plain is a database that is one line: "incarnation revision".
var plain = Database{
	File: "state.db",
	Snapshot: func(_ context.Context, dir, to string) error {
		data, err := os.ReadFile(filepath.Join(dir, "state.db"))
		if err != nil {
			return err
		}
		return os.WriteFile(to, data, 0o600)
	},
	Inspect: func(_ context.Context, path string) (incarnation string, revision int64, err error) {
		data, err := os.ReadFile(path)
		if err == nil {
			_, err = fmt.Sscanf(string(data), "%s %d", &incarnation, &revision)
		}
		return incarnation, revision, err
	},
	Needs: func(context.Context, string) ([]string, error) { return nil, nil },
	Opens: func(context.Context, string, string, Outside) error { return nil },
}

// center is a data directory with everything that one may have.
func center(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"state.db": "abc 17", "pki/authorities.json": "{}", "pki/ca-1/server-ca.key": "secret",
		"pki/.ca-22/half.key": "unfinished", "uplink/agent.key": "identity",
		"uplink/agent.db": "copies", "uplink/agent.db.corrupt-1": "copies", "reports/one.db": "soft",
		"admin.kubeconfig": "made anew", "lock": "",
	} {
		write(t, filepath.Join(dir, name), []byte(text))
	}
	return dir
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, data, 0o600)); err != nil {
		t.Fatal(err)
	}
}

func taken(t *testing.T) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "b.skerry")
	m, err := Take(t.Context(), TakeOptions{Dir: center(t), File: file, Version: "v1", Database: plain})
	if err != nil || m.Incarnation != "abc" || m.Revision != 17 || m.Format != format || m.Version != "v1" {
		t.Fatalf("took %+v, %v", m, err)
	}
	return file
}

func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %o", path, info.Mode().Perm())
		}
		name, _ := filepath.Rel(dir, path)
		data, err := os.ReadFile(path)
		out[name] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestBackupAndRestore(t *testing.T) {
	file := taken(t)
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode of the backup: %v, %v", info.Mode(), err)
	}
	if entries, _ := os.ReadDir(filepath.Dir(file)); len(entries) != 1 {
		t.Errorf("%d files are beside the backup", len(entries)-1)
	}
	dir := filepath.Join(t.TempDir(), "new", "center")
	if m, err := Restore(t.Context(), RestoreOptions{File: file, Dir: dir, Database: plain}); err != nil ||
		m.Revision != 17 {
		t.Fatalf("restored %+v, %v", m, err)
	}
	got := files(t, dir)
	want := map[string]string{
		"state.db":               "abc 17",
		"pki/authorities.json":   "{}",
		"pki/ca-1/server-ca.key": "secret",
		"uplink/agent.key":       "identity",
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("restored %v, want %v", got, want)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("mode of the directory: %v, %v", info.Mode(), err)
	}
	if _, err := Restore(t.Context(), RestoreOptions{File: file, Dir: dir, Database: plain}); !errors.Is(
		err,
		ErrInUse,
	) {
		t.Errorf("restored over a center: %v", err)
	}
	if _, err := Take(t.Context(), TakeOptions{Dir: dir, File: file, Database: plain}); err == nil {
		t.Error("a backup was overwritten")
	}
	if _, err := Take(t.Context(), TakeOptions{Dir: t.TempDir(), File: file + "2", Database: plain}); err == nil {
		t.Error("an empty directory was backed up")
	}
}

// A backup that is cut, or has a bit changed anywhere, restores nothing. (A few bits of a
// compressed stream of much the same mean nothing: with those it restores exactly what it was made
// of.)
func TestDamageIsFound(t *testing.T) {
	good, err := os.ReadFile(taken(t))
	if err != nil {
		t.Fatal(err)
	}
	whole := filepath.Join(t.TempDir(), "whole")
	write(t, whole+".skerry", good)
	if _, err := Restore(t.Context(), RestoreOptions{File: whole + ".skerry", Dir: whole, Database: plain}); err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprint(files(t, whole))
	restore := func(name string, data []byte) (restored bool) {
		dir, file := filepath.Join(t.TempDir(), "d"), filepath.Join(t.TempDir(), "f")
		write(t, file, data)
		_, err := Restore(t.Context(), RestoreOptions{File: file, Dir: dir, Database: plain})
		left := files(t, dir)
		if err == nil && fmt.Sprint(left) == want {
			return true
		}
		if !errors.Is(err, ErrNotABackup) || len(left) > 0 {
			t.Errorf("%s: %v, left %v", name, err, left)
		}
		return false
	}
	for cut := 0; cut < len(good); cut += 7 {
		if restore(fmt.Sprintf("cut at %d", cut), good[:cut]) {
			t.Errorf("restored of its first %d bytes", cut)
		}
	}
	meaningless := 0
	for i := range good {
		bad := bytes.Clone(good)
		bad[i] ^= 1 << (i % 8)
		if restore(fmt.Sprintf("byte %d", i), bad) {
			meaningless++
		}
	}
	if meaningless > len(good)/20 {
		t.Errorf("%d of %d changed bits were not found", meaningless, len(good))
	}
	if restore("rest", append(bytes.Clone(good), "more"...)) {
		t.Error("what follows the end was not found")
	}
}

func archive(t *testing.T, entries ...[2]string) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a")
	w, err := newWriter(path)
	for _, e := range entries {
		err = errors.Join(err, w.bytes(e[0], []byte(e[1])))
	}
	if err = errors.Join(err, w.close()); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestHostileArchives(t *testing.T) {
	manifest := [2]string{manifestFile, `{"format":1,"incarnation":"abc","revision":17}`}
	state := [2]string{"state.db", "abc 17"}
	for name, c := range map[string]struct {
		data []byte
		want error
	}{
		"sound":              {archive(t, manifest, [2]string{"pki/a", "k"}, state), nil},
		"out of the way":     {archive(t, manifest, [2]string{"pki/../../evil", "k"}, state), ErrNotABackup},
		"absolute":           {archive(t, manifest, [2]string{"/etc/evil", "k"}, state), ErrNotABackup},
		"another file":       {archive(t, manifest, [2]string{"admin.kubeconfig", "k"}, state), ErrNotABackup},
		"no manifest":        {archive(t, state), ErrNotABackup},
		"manifest not first": {archive(t, state, manifest), ErrNotABackup},
		"other data":         {archive(t, manifest, [2]string{"state.db", "abc 18"}), ErrNotABackup},
		"no data":            {archive(t, manifest), ErrNotABackup},
		"twice":              {archive(t, manifest, state, state), ErrNotABackup},
		"newer": {
			archive(t, [2]string{manifestFile, `{"format":2,"version":"v9"}`}, [2]string{"what", "ever"}),
			ErrNewer,
		},
	} {
		dir, file := filepath.Join(t.TempDir(), "d"), filepath.Join(t.TempDir(), "f")
		write(t, file, c.data)
		if _, err := Restore(t.Context(), RestoreOptions{File: file, Dir: dir, Database: plain}); !errors.Is(
			err,
			c.want,
		) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A link is no file.
	var buf bytes.Buffer
	z, _ := zstd.NewWriter(&buf)
	tw := tar.NewWriter(z)
	err := errors.Join(
		tw.WriteHeader(&tar.Header{Name: manifestFile, Size: int64(len(manifest[1]))}),
		errOf(io.WriteString(tw, manifest[1])),
		tw.WriteHeader(
			&tar.Header{Name: "pki/l", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"},
		),
		tw.Close(),
		z.Close(),
	)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "f")
	write(t, file, buf.Bytes())
	if _, err := Restore(
		t.Context(),
		RestoreOptions{File: file, Dir: filepath.Join(t.TempDir(), "d"), Database: plain},
	); !errors.Is(
		err,
		ErrNotABackup,
	) {
		t.Errorf("a link: %v", err)
	}
}

func errOf(_ int, err error) error { return err }

// Keys that change while the database is copied are copied again, with it.
func TestKeysAreOfTheSameMoment(t *testing.T) {
	dir, file := center(t), filepath.Join(t.TempDir(), "b")
	changes := 2
	db := plain
	db.Snapshot = func(ctx context.Context, dir, to string) error {
		if changes > 0 {
			changes--
			write(t, filepath.Join(dir, "pki/authorities.json"), fmt.Appendf(nil, "step %d", changes))
		}
		return plain.Snapshot(ctx, dir, to)
	}
	if _, err := Take(t.Context(), TakeOptions{Dir: dir, File: file, Database: db}); err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "d")
	if _, err := Restore(t.Context(), RestoreOptions{File: file, Dir: to, Database: plain}); err != nil {
		t.Fatal(err)
	}
	if got := files(t, to)["pki/authorities.json"]; got != "step 0" {
		t.Errorf("keys of %q", got)
	}
	changes = 1000
	if _, err := Take(t.Context(), TakeOptions{Dir: dir, File: file + "2", Database: db}); err == nil {
		t.Error("a backup was taken of keys that never stood still")
	}
}

// An admin without Skerry can look into a backup.
func TestUsualToolsReadIt(t *testing.T) {
	file, dir := taken(t), t.TempDir()
	for _, tool := range []string{"tar", "zstd", "sha256sum"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip("not here: ", tool)
		}
	}
	if out, err := exec.Command(
		"sh",
		"-c",
		`zstd -dc "$1" | tar -x -C "$2" && cd "$2" && sha256sum --strict -c SHA256SUMS`,
		"sh",
		file,
		dir,
	).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
