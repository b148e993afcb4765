package upgrade

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"skerry.dev/skerry/tunnel/keyfile"
)

// Options say how to install what is wished.
type Options struct {
	// DataDir is the agent's, Command the owner's program, and Result where to say what it has done.
	DataDir, Command, Result string
	// Timeout bounds the command.
	Timeout time.Duration
	// Out gets what the command says, and what this does.
	Out io.Writer
}

// maxSaid is how much of what a command said last is told to the center.
const maxSaid = 512

// Install runs the owner's command with the version that is wished. Nothing wished is no error.
func Install(ctx context.Context, o Options) error {
	version, err := readWish(o.DataDir)
	switch {
	case errors.Is(err, errNoWish):
		fmt.Fprintln(o.Out, "no other version of the agent is wished")
		return nil
	case err != nil:
		return err
	}
	err = o.run(ctx, version)
	r := Result{Version: version, At: time.Now().Truncate(time.Second)}
	if err != nil {
		r.Error = err.Error()
	}
	text, wrong := json.Marshal(r)
	if wrong == nil {
		wrong = keyfile.Replace(o.Result, text)
	}
	if wrong == nil {
		wrong = os.Chmod(o.Result, 0o644) // for the agent
	}
	if wrong != nil {
		wrong = fmt.Errorf("say what was done: %w", wrong)
	}
	return errors.Join(err, wrong)
}

func (o Options) run(ctx context.Context, version string) error {
	if err := trusted(o.Command); err != nil {
		return err
	}
	fmt.Fprintf(o.Out, "%s %s\n", o.Command, version)
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	said := &tail{}
	c := exec.CommandContext(ctx, o.Command, version)
	c.Dir, c.Env = "/", []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root",
		"LANG=C.UTF-8", "DEBIAN_FRONTEND=noninteractive"}
	c.Stdout = io.MultiWriter(o.Out, said)
	c.Stderr = c.Stdout
	c.WaitDelay = 5 * time.Second
	err := c.Run()
	if ctx.Err() != nil {
		err = fmt.Errorf("it did not end within %s", o.Timeout)
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w%s", o.Command, version, err, said)
	}
	return nil
}

// trusted refuses a command that another user than root, or than this one, may have written: it runs with all rights.
func trusted(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no %s: write a program that installs the version which is its argument, as "+
			"/usr/share/doc/skerry/docs/how-to/upgrade.md has it", path)
	case err != nil:
		return fmt.Errorf("look at the owner's command: %w", err)
	}
	owner, known := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0:
		return fmt.Errorf("%s is no program: chmod 0755 %s", path, path)
	case info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("%s may be written by others than its owner: chmod 0755 %s", path, path)
	case known && owner.Uid != 0 && int(owner.Uid) != os.Geteuid():
		return fmt.Errorf("%s does not belong to root: chown root %s", path, path)
	}
	return nil
}

// tail keeps what was written last.
type tail struct{ b []byte }

func (t *tail) Write(b []byte) (int, error) {
	t.b = append(t.b, b...)
	t.b = bytes.Clone(t.b[max(0, len(t.b)-maxSaid):])
	return len(b), nil
}

// String is the last that was said, in one line, for the end of an error.
func (t *tail) String() string {
	text := strings.Join(strings.Fields(strings.ToValidUTF8(string(t.b), "")), " ")
	if text == "" {
		return ""
	}
	return ": " + text
}
