package drive

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Process is a program that was started and is stopped by its own handle. Its output goes to a log
// file.
type Process struct {
	Name string
	// Log is the file that holds what it printed.
	Log string

	cmd    *exec.Cmd
	lines  chan string
	exited chan struct{}
	once   sync.Once
	err    error
}

// ErrExited is returned when a process ended although it was to go on.
var ErrExited = errors.New("the process ended")

// Start runs a program with its output in dir/name.log; one that starts again goes on in the same
// log. The process gets a group of its own, so that a Ctrl-C in the terminal reaches only the
// driver, which then stops things in order. env is added to the environment.
func Start(dir, name string, env []string, program string, args ...string) (*Process, error) {
	log, err := os.OpenFile(filepath.Join(dir, name+".log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	p := &Process{Name: name, Log: log.Name(), lines: make(chan string, 64), exited: make(chan struct{})}
	p.cmd = exec.Command(program, args...)
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		log.Close()
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	p.cmd.Stderr = log
	if err := p.cmd.Start(); err != nil {
		log.Close()
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	go p.follow(out, log)
	return p, nil
}

// follow copies standard output to the log and offers its lines to WaitLine; lines that nobody
// waits for are only logged.
func (p *Process) follow(out io.Reader, log *os.File) {
	sc := bufio.NewScanner(out)
	for sc.Scan() {
		fmt.Fprintln(log, sc.Text())
		select {
		case p.lines <- sc.Text():
		default:
		}
	}
	p.err = p.cmd.Wait()
	log.Close()
	close(p.exited)
}

// PID is the process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Exited is closed when the process has ended.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Err is how the process ended. Call it after Exited.
func (p *Process) Err() error { return p.err }

// WaitLine returns the first line of standard output that contains text.
func (p *Process) WaitLine(ctx context.Context, text string) (string, error) {
	for {
		select {
		case line := <-p.lines:
			if strings.Contains(line, text) {
				return line, nil
			}
		case <-p.exited:
			return "", fmt.Errorf("%s: %w (%v); the end of its log:\n%s", p.Name, ErrExited, p.err, Tail(p.Log, 12))
		case <-ctx.Done():
			return "", fmt.Errorf("wait for %q from %s: %w; the end of its log:\n%s", text, p.Name, ctx.Err(), Tail(p.Log, 12))
		}
	}
}

// Stop ends the process with SIGTERM and, when that has not helped after 10 s, with SIGKILL. It
// waits until it is gone.
func (p *Process) Stop() {
	p.once.Do(func() {
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-p.exited:
		case <-time.After(10 * time.Second):
			p.Kill()
		}
	})
}

// Kill ends the process with SIGKILL, as a loss of power would, and waits until it is gone.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill()
	<-p.exited
}

// Tail returns the last n lines of a file, or why they cannot be had.
func Tail(path string, n int) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimRight(string(data), "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
