package process

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// TestMain lets the test binary stand in for the testenv binary, which every
// started process begins as.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == LaunchCommand {
		fmt.Fprintln(os.Stderr, Launch(os.Args[2:]))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func TestParseStat(t *testing.T) {
	tail := " S 1 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 123456 9 10"
	for _, command := range []string{"sh", "a b", "a) R (b", ")"} {
		state, start, err := parseStat([]byte("42 (" + command + ")" + tail))
		if err != nil || state != 'S' || start != 123456 {
			t.Errorf("command %q: got %c, %d, %v", command, state, start, err)
		}
	}
	for _, bad := range []string{"", "42 (sh", "42 (sh) S 1"} {
		if _, _, err := parseStat([]byte(bad)); err == nil {
			t.Errorf("%q: want an error", bad)
		}
	}
}

func TestIdentityIsOfOneProcess(t *testing.T) {
	self, err := Self()
	if err != nil {
		t.Fatal(err)
	}
	if !self.Alive() || self.PID != os.Getpid() {
		t.Errorf("own identity %+v is not alive", self)
	}
	for _, other := range []Identity{
		{PID: self.PID, Start: self.Start + 1, Boot: self.Boot},
		{PID: self.PID, Start: self.Start, Boot: "another boot"},
	} {
		if other.Alive() {
			t.Errorf("%+v has the process id of this process, but is another", other)
		}
	}
}

func TestZombieIsNotAlive(t *testing.T) {
	cmd := exec.Command("true")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	id, err := identify(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	within(t, func() bool { return !id.Alive() })
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
}

func TestStartRecordStop(t *testing.T) {
	table := Table{Dir: t.TempDir()}
	log := filepath.Join(t.TempDir(), "log")
	running, err := table.Start(Command{Role: "sleeper",
		Args: []string{"sh", "-c", "echo $GREETING; exec sleep 600"}, Env: []string{"GREETING=hello"}, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	var record Record
	within(t, func() bool {
		records, err := table.Records()
		if err != nil {
			t.Fatal(err)
		}
		record = records["sleeper"]
		return record.Alive()
	})
	within(t, func() bool {
		data, err := os.ReadFile(log)
		return err == nil && bytes.Equal(data, []byte("hello\n"))
	})
	if err := table.Stop(context.Background(), "sleeper"); err != nil {
		t.Fatal(err)
	}
	<-running.Done
	if record.Alive() {
		t.Error("it still runs")
	}
	if err := table.Stop(context.Background(), "sleeper"); err != nil {
		t.Errorf("a second stop: %v", err)
	}
}

func TestKillEndsWhatIgnoresTERM(t *testing.T) {
	table := Table{Dir: t.TempDir()}
	log := filepath.Join(t.TempDir(), "log")
	running, err := table.Start(Command{Role: "deaf",
		Args: []string{"sh", "-c", "trap '' TERM; echo ready; while :; do sleep 1; done"}, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	within(t, func() bool { data, _ := os.ReadFile(log); return len(data) > 0 })
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	if err := table.Stop(ctx, "deaf"); err != nil {
		t.Fatal(err)
	}
	<-running.Done
}

func TestNothingStartsAfterKillAll(t *testing.T) {
	table := Table{Dir: filepath.Join(t.TempDir(), "processes")}
	if err := os.Mkdir(table.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := table.KillAll(); err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(t.TempDir(), "log")
	running, err := table.Start(Command{Role: "late", Args: []string{"echo", "it runs"}, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	<-running.Done
	data, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(data, []byte("it runs")) {
		t.Error("a process started although its table was closed")
	}
}

func within(t *testing.T, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !condition(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("not within 10 s")
		}
	}
}
