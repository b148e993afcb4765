package upgrade

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/store/storetest/leak"
	"skerry.dev/skerry/tunnel"
)

func TestMain(m *testing.M) { leak.Main(m) }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// agent is one of version 1.3.0, with a machine.
type agent struct {
	*Wish
	t   *testing.T
	dir string
	say tunnel.Conditions
	o   Options
	out strings.Builder
}

func newAgent(t *testing.T, program string) *agent {
	a := &agent{t: t, dir: t.TempDir()}
	a.start("1.3.0")
	machine := t.TempDir()
	a.o = Options{DataDir: a.dir, Command: filepath.Join(machine, "upgrade-agent"), Result: filepath.Join(machine, "result.json"),
		Timeout: time.Minute, Out: &a.out}
	a.Wish.result = a.o.Result
	if program != "" {
		must(t, os.WriteFile(a.o.Command, []byte("#!/bin/sh\n"+program+"\n"), 0o700))
	}
	return a
}

func (a *agent) start(version string) {
	was := ""
	if a.Wish != nil {
		was = a.Wish.result
	}
	a.say.Clear(tunnel.VersionAsWished) // a new process
	a.Wish = Open(a.dir, version, &a.say, slog.New(slog.DiscardHandler))
	a.Wish.result = was
}

// file is what stands in the wish's file, "none" where it is not there.
func (a *agent) file() string {
	b, err := os.ReadFile(filepath.Join(a.dir, WishFile))
	if errors.Is(err, os.ErrNotExist) {
		return "none"
	}
	must(a.t, err)
	return string(b)
}

// expect looks at the condition; reason is empty for none.
func (a *agent) expect(what, reason string, words ...string) {
	a.t.Helper()
	a.mu.Lock()
	a.sayLocked()
	a.mu.Unlock()
	c, is := a.say.Get(tunnel.VersionAsWished)
	if is != (reason != "") || c.Reason != reason {
		a.t.Errorf("%s: the condition is %+v, want %q", what, c, reason)
	}
	for _, w := range words {
		if !strings.Contains(c.Message, w) {
			a.t.Errorf("%s: %q lacks %q", what, c.Message, w)
		}
	}
}

func TestAWishIsKept(t *testing.T) {
	a := newAgent(t, "")
	a.Set(tunnel.Wish{AgentVersion: "1.4.0"})
	if a.file() != "1.4.0\n" {
		t.Errorf("the file has %q", a.file())
	}
	a.expect("nothing was done", "Waiting", "1.4.0 is wished", "agent is 1.3.0", "skerry-agent-upgrade.path")
	a.Set(tunnel.Wish{AgentVersion: "1.3.0"})
	if a.file() != "none" {
		t.Errorf("it has what is wished, and the file has %q", a.file())
	}
	a.expect("it has what is wished", "")
	for _, wrong := range []string{"1.4.0; reboot", "-rf", "../x", "1 2", strings.Repeat("1", 65), "\n"} {
		a.Set(tunnel.Wish{AgentVersion: wrong})
		if a.file() != "none" {
			t.Errorf("%q is taken for a version: %q", wrong, a.file())
		}
	}
	a.Set(tunnel.Wish{AgentVersion: "1.4.0"})
	a.start("1.4.0") // which the owner has installed, while the center is away
	if a.file() != "none" {
		t.Errorf("a new version has what is wished, and the file has %q", a.file())
	}
	a.start("1.3.0")
	a.Set(tunnel.Wish{AgentVersion: "1.4.0"})
	a.Set(tunnel.Wish{})
	if a.file() != "none" {
		t.Errorf("the wish was taken back, and the file has %q", a.file())
	}
	a.expect("the wish was taken back", "")
}

// A file that says the same is not written again: the unit that watches it would start again.
func TestTheSameWishIsNotWrittenAgain(t *testing.T) {
	a := newAgent(t, "")
	a.Set(tunnel.Wish{AgentVersion: "1.4.0"})
	before, err := os.Stat(filepath.Join(a.dir, WishFile))
	must(t, err)
	a.Set(tunnel.Wish{AgentVersion: "1.4.0"})
	a.start("1.3.0")
	a.Set(tunnel.Wish{AgentVersion: "1.4.0"})
	after, err := os.Stat(filepath.Join(a.dir, WishFile))
	must(t, err)
	if !os.SameFile(before, after) || before.ModTime() != after.ModTime() {
		t.Error("it was written again")
	}
}

func TestTheOwnersProgram(t *testing.T) {
	for name, c := range map[string]struct {
		program string
		err     string
		reason  string
		says    []string
	}{
		"installs it":           {`echo installing $#: $1`, "", "Failed", []string{"ended well", "the agent that runs is 1.3.0"}},
		"fails":                 {`echo no such package >&2; exit 3`, "exit status 3", "Failed", []string{"installing it failed", "exit status 3: no such package"}},
		"says a lot, and fails": {`i=0; while [ $i -lt 999 ]; do echo line $i; i=$((i+1)); done; exit 1`, "exit status 1", "Failed", []string{"line 998"}},
		"is missing":            {"", "there is no", "Failed", []string{"there is no", "upgrade-agent"}},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAgent(t, c.program)
			must(t, Install(t.Context(), a.o)) // nothing is wished
			if strings.Contains(a.out.String(), "installing") {
				t.Error("it was run for nothing")
			}
			a.Set(tunnel.Wish{AgentVersion: "1.4.0"})
			if err := Install(t.Context(), a.o); (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("%v, want %q", err, c.err)
			}
			a.expect("afterwards", c.reason, c.says...)
			if said, _ := a.say.Get(tunnel.VersionAsWished); len(said.Message) > 1000 {
				t.Errorf("it says %d bytes", len(said.Message))
			}
			a.Set(tunnel.Wish{AgentVersion: "1.5.0"})
			a.expect("another wish", "Waiting")
			a.start("1.4.0")
			a.Set(tunnel.Wish{AgentVersion: "1.4.0"})
			a.expect("it runs", "")
		})
	}
	a := newAgent(t, `echo installing $#: $1`)
	a.Set(tunnel.Wish{AgentVersion: "1.4.0~rc1+x"})
	must(t, Install(t.Context(), a.o))
	if !strings.Contains(a.out.String(), "installing 1: 1.4.0~rc1+x\n") {
		t.Errorf("it was run with %q", a.out.String())
	}
}

// What takes too long is ended.
func TestTheOwnersProgramEnds(t *testing.T) {
	a := newAgent(t, `exec sleep 1000`)
	a.Set(tunnel.Wish{AgentVersion: "1.4.0"})
	a.o.Timeout = 50 * time.Millisecond
	if err := Install(t.Context(), a.o); err == nil || !strings.Contains(err.Error(), "did not end within 50ms") {
		t.Error(err)
	}
	a.expect("afterwards", "Failed", "did not end within 50ms")
}

// Whoever has taken over the agent gets no rights by its file, and learns nothing.
func TestHostileWishes(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	must(t, os.WriteFile(secret, []byte("hunter2\n"), 0o600))
	for name, put := range map[string]func(path string) error{
		"a link":          func(path string) error { return os.Symlink(secret, path) },
		"a directory":     func(path string) error { return os.Mkdir(path, 0o700) },
		"an option":       func(path string) error { return os.WriteFile(path, []byte("--force"), 0o600) },
		"a path":          func(path string) error { return os.WriteFile(path, []byte("/tmp/evil.deb"), 0o600) },
		"two lines":       func(path string) error { return os.WriteFile(path, []byte("1.4.0\nhunter2"), 0o600) },
		"a large one":     func(path string) error { return os.WriteFile(path, []byte(strings.Repeat("1", 1<<20)), 0o600) },
		"nothing":         func(path string) error { return os.WriteFile(path, nil, 0o600) },
		"what is no text": func(path string) error { return os.WriteFile(path, []byte{0, 0xff}, 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			a := newAgent(t, `echo run; exit 0`)
			must(t, put(filepath.Join(a.dir, WishFile)))
			err := Install(t.Context(), a.o)
			if err == nil || strings.Contains(err.Error()+a.out.String(), "hunter2") || strings.Contains(a.out.String(), "run") {
				t.Errorf("%v; %s", err, a.out.String())
			}
		})
	}
	for name, change := range map[string]func(path string) error{
		"others may write it": func(path string) error { return os.Chmod(path, 0o777) },
		"it is no program":    func(path string) error { return os.Chmod(path, 0o600) },
		"it is of another":    func(path string) error { return os.Chown(path, 12345, 12345) },
	} {
		t.Run(name, func(t *testing.T) {
			a := newAgent(t, `echo run`)
			a.Set(tunnel.Wish{AgentVersion: "1.4.0"})
			if err := change(a.o.Command); err != nil {
				t.Skip(err) // nobody but root gives files away
			}
			if err := Install(t.Context(), a.o); err == nil || strings.Contains(a.out.String(), "run\n") {
				t.Errorf("%v; %s", err, a.out.String())
			}
		})
	}
}

// Run tells what has become of a wish.
func TestRunTells(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAgent(t, "")
		a.Set(tunnel.Wish{AgentVersion: "1.4.0"})
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go a.Run(ctx)
		if err := Install(ctx, a.o); err == nil {
			t.Error("without a program it installs")
		}
		time.Sleep(lookEvery + time.Second)
		synctest.Wait()
		if c, _ := a.say.Get(tunnel.VersionAsWished); c.Reason != "Failed" {
			t.Errorf("it says %+v", c)
		}
	})
}
