// Package process starts programs that outlive the command that started them
// and stops them later by what is on record: process id, start time and boot,
// never by a name. A [Table] is a directory with one record per process.
//
// It knows nothing of clusters. The testenv binary must call [Launch] when its
// first argument is [LaunchCommand].
package process

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

const suffix = ".pid.json"

// Table is a directory of records.
type Table struct {
	// Dir exists while processes may be started.
	Dir string
}

// Command describes a process to start.
type Command struct {
	// Role names the process in its table.
	Role string
	// Args are the program and its arguments.
	Args []string
	// Dir is the working directory, Env is added to the environment.
	Dir string
	Env []string
	// Log takes stdout and stderr; it is appended to.
	Log string
	// NetNS is the file of a network namespace to run in, or "".
	NetNS string
	// Isolate gives the process mount, UTS, IPC and pid namespaces of its own.
	// It is then the first process of its pid namespace: all others in it end
	// with it.
	Isolate bool
}

// Running is a process that the caller has started.
type Running struct {
	Role string
	// Done is closed when the process has ended.
	Done <-chan struct{}
}

// Start starts the command in a session of its own.
func (t Table) Start(c Command) (*Running, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	log, err := os.OpenFile(c.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(self, append([]string{LaunchCommand, t.path(c.Role), c.NetNS}, c.Args...)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = c.Dir, log, log
	cmd.Env = append(os.Environ(), c.Env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if c.Isolate {
		cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWNS | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC | syscall.CLONE_NEWPID
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Role, err)
	}
	done := make(chan struct{})
	go func() {
		_ = cmd.Wait() // the program's own log says why it ended
		close(done)
	}()
	return &Running{Role: c.Role, Done: done}, nil
}

// Records returns what is on record, by role. A missing directory is an empty
// table.
func (t Table) Records() (map[string]Record, error) {
	entries, err := os.ReadDir(t.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	records := map[string]Record{}
	for _, e := range entries {
		role, ok := strings.CutSuffix(e.Name(), suffix)
		if !ok {
			continue
		}
		r, err := readRecord(filepath.Join(t.Dir, e.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		records[role] = r
	}
	return records, nil
}

// Stop ends the process of a role: it asks with SIGTERM, and kills when ctx
// ends first. No record, or a record of a process that is gone, is success.
func (t Table) Stop(ctx context.Context, role string) error {
	r, err := readRecord(t.path(role))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := r.Identity.stop(ctx); err != nil {
		return fmt.Errorf("stop %s: %w", role, err)
	}
	return os.Remove(t.path(role))
}

// Kill ends the process of a role at once, as a loss of power would.
func (t Table) Kill(role string) error {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return t.Stop(ctx, role)
}

func (t Table) path(role string) string { return filepath.Join(t.Dir, role+suffix) }

// KillAll ends every process on record, and nothing starts from here on: a
// process writes its record to the table's directory before it becomes a
// program, and the directory is gone.
func (t Table) KillAll() error {
	closed := Table{Dir: t.Dir + ".closed"}
	if err := os.Rename(t.Dir, closed.Dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	records, err := closed.Records()
	if err != nil {
		return err
	}
	for role := range records {
		if err := closed.Kill(role); err != nil {
			return err
		}
	}
	return os.RemoveAll(closed.Dir)
}
