package machine

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"skerry.dev/skerry/store/storetest"
	"skerry.dev/skerry/tunnel/doctor"
	"skerry.dev/skerry/tunnel/doctor/doctortest"
)

// data is a data directory as a service has it.
func data(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"db", "key"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestAllIsWell(t *testing.T) {
	dir := data(t)
	doctortest.Alone(t, Checks(Config{Dir: dir, Private: []string{filepath.Join(dir, "key"), filepath.Join(dir, "nosuch")}}), "", "")
	if left, _ := filepath.Glob(filepath.Join(dir, ".doctor-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	doctortest.Alone(t, Checks(Config{Dir: filepath.Join(dir, "not-yet")}), "", "")
}

func TestFiles(t *testing.T) {
	dir := data(t)
	key := filepath.Join(dir, "key")
	mode := func(mode os.FileMode) {
		t.Helper()
		if err := os.Chmod(key, mode); err != nil {
			t.Fatal(err)
		}
	}
	mode(0o644)
	if f := doctortest.Alone(t, Checks(Config{Dir: dir}), "machine.files", "files-open"); f.Fix != "chmod -R go= "+key {
		t.Error(f.Fix)
	}
	mode(0o200)
	doctortest.Alone(t, Checks(Config{Dir: dir}), "machine.files", "files-shut")
	mode(0o400)
	doctortest.Alone(t, Checks(Config{Dir: dir}), "", "")
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for mode, want := range map[os.FileMode]doctor.Verdict{0o644: doctor.Warning, 0o666: doctor.Failed} {
		if err := os.Chmod(token, mode); err != nil {
			t.Fatal(err)
		}
		f := doctortest.Alone(t, Checks(Config{Dir: dir, Private: []string{token}}), "machine.files", "files-open")
		if f.Verdict != want {
			t.Errorf("a token of mode %04o, as pages make one: %s, want %s", mode, f.Verdict, want)
		}
	}
	if os.Geteuid() != 0 {
		t.Skip("another owner needs root")
	}
	if err := os.Chown(key, 4711, 4711); err != nil {
		t.Fatal(err)
	}
	if f := doctortest.Alone(t, Checks(Config{Dir: dir}), "machine.files", "files-wrong-owner"); !strings.Contains(f.Why, "4711") ||
		!strings.HasPrefix(f.Fix, "chown -R root: "+dir) {
		t.Errorf("%+v", f)
	}
}

func TestDiskFull(t *testing.T) {
	dir := storetest.SmallDisk(t, "1m")
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "ballast"), make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	doctortest.Alone(t, Checks(Config{Dir: dir}), "machine.disk", "disk-full")
}

func TestDiskReadOnly(t *testing.T) {
	dir := storetest.SmallDisk(t, "1m")
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	doctortest.Alone(t, Checks(Config{Dir: dir}), "machine.disk", "disk-read-only")
}

// some is a disk that answers as it is told to.
type some struct {
	space Space
	sync  time.Duration
	err   error
}

func (s some) Space(string) (Space, error) { return s.space, nil }

func (s some) Probe(string) ([]time.Duration, error) {
	return []time.Duration{0, s.sync, s.sync, s.sync, time.Hour}, s.err
}

func TestDisk(t *testing.T) {
	room := Space{Free: 1 << 30, Total: 1 << 31, Files: 1000}
	for name, c := range map[string]struct {
		disk         some
		check, fault string
	}{
		"quota":     {some{room, 0, &os.PathError{Err: syscall.EDQUOT}}, "machine.disk", "disk-quota-full"},
		"full":      {some{room, 0, &os.PathError{Err: syscall.ENOSPC}}, "machine.disk", "disk-full"},
		"no inodes": {some{Space{Free: 1 << 30, Total: 1 << 31}, 0, nil}, "machine.disk", "disk-full"},
		"low":       {some{Space{Free: 5 << 20, Total: 1 << 31, Files: -1}, 0, nil}, "machine.disk", "disk-low"},
		"small":     {some{Space{Free: 5 << 20, Total: 6 << 20, Files: -1}, 0, nil}, "", ""},
		"broken":    {some{room, 0, &os.PathError{Err: syscall.EIO}}, "machine.disk", "disk-broken"},
		"denied":    {some{room, 0, &os.PathError{Err: syscall.EACCES}}, "machine.disk", "files-unreadable"},
		"slow":      {some{room, time.Second, nil}, "machine.fsync", "disk-slow"},
		"SD card":   {some{room, 200 * time.Millisecond, nil}, "", ""},
	} {
		t.Run(name, func(t *testing.T) { doctortest.Alone(t, Checks(Config{Dir: data(t), Disk: c.disk}), c.check, c.fault) })
	}
}

func TestUDPBuffers(t *testing.T) {
	for want, verdict := range map[int]doctor.Verdict{4 << 10: doctor.OK, 1 << 30: doctor.Warning} {
		if f := UDPBuffers(want).Run(t.Context()); f[0].Verdict != verdict {
			t.Errorf("%d bytes: %+v", want, f)
		}
	}
}

func TestHolders(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if p := PortHolder("tcp", l.Addr().(*net.TCPAddr).Port); p.ID != os.Getpid() || p.Name == "" {
		t.Errorf("the port is of %v", p)
	}
	path := filepath.Join(t.TempDir(), "lock")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if p := LockHolder(path); p.ID != 0 {
		t.Errorf("nobody has it: %v", p)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if p := LockHolder(path); p.ID != os.Getpid() {
		t.Errorf("the lock is of %v", p)
	}
}

// manager knows one service.
type manager struct{ unit Unit }

func (m manager) Unit(_ context.Context, name string) (Unit, bool) { return m.unit, name == "known" }

// That a service fails is told where nothing else says why.
func TestServiceFailsAlone(t *testing.T) {
	room := Space{Free: 1 << 30, Total: 1 << 31, Files: 1000}
	checks := func(u Unit, wrong error) []doctor.Check {
		all := Checks(Config{Dir: data(t), Disk: some{space: room, err: wrong}})
		return append(all, Service("known", manager{u}, doctor.Names(all)))
	}
	doctortest.Alone(t, checks(Unit{State: "active"}, nil), "", "")
	failed := Unit{State: "failed", Result: "exit-code"}
	doctortest.Alone(t, checks(failed, nil), "machine.service", "service-failing")
	doctortest.Alone(t, checks(failed, &os.PathError{Err: syscall.ENOSPC}), "machine.disk", "disk-full")
}

func TestService(t *testing.T) {
	for _, c := range []struct {
		name    string
		unit    Unit
		verdict doctor.Verdict
	}{
		{"unknown", Unit{}, doctor.Skipped},
		{"known", Unit{State: "active"}, doctor.OK},
		{"known", Unit{State: "inactive"}, doctor.OK},
		{"known", Unit{State: "activating", Restarts: 1}, doctor.OK},
		{"known", Unit{State: "activating", Restarts: 9}, doctor.Failed},
		{"known", Unit{State: "failed"}, doctor.Failed},
	} {
		f := Service(c.name, manager{c.unit}, nil).Run(t.Context())
		if f[0].Verdict != c.verdict || (f[0].Fault != "") != (c.verdict == doctor.Failed) {
			t.Errorf("%+v: %+v", c, f)
		}
	}
}
