package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// programs are the children of the node's first process. Only its reaper waits
// for processes: it gets the exit of every child, its own and the orphans that
// the kernel gives to the first process of a pid namespace.
type programs struct {
	spec  Spec
	ended chan exit // exits of programs that were started to go on

	// mu is held while a child starts, so that none ends before it is known.
	mu       sync.Mutex
	children map[int]child // by process id
}

type child struct {
	name string
	done chan<- exit
}

type exit struct {
	name   string
	status syscall.WaitStatus
}

func newPrograms(s Spec) *programs {
	p := &programs{spec: s, ended: make(chan exit, 8), children: map[int]child{}}
	changes := make(chan os.Signal, 1)
	signal.Notify(changes, syscall.SIGCHLD)
	go func() {
		for range changes {
			p.reap()
		}
	}()
	return p
}

// start starts a program that is meant to run as long as the node.
func (p *programs) start(name string, argv ...string) error { return p.launch(name, p.ended, argv) }

// once runs a program to its end.
func (p *programs) once(ctx context.Context, name string, argv ...string) error {
	done := make(chan exit, 1)
	if err := p.launch(name, done, argv); err != nil {
		return err
	}
	select {
	case e := <-done:
		if e.status != 0 {
			return fmt.Errorf("%s: %s", name, describe(e.status))
		}
		return nil
	case e := <-p.ended:
		return e.unexpected()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// wait returns when the condition holds, or a program has ended.
func (p *programs) wait(ctx context.Context, what string, condition func(context.Context) error) error {
	poll := time.NewTicker(30 * time.Millisecond)
	defer poll.Stop()
	for {
		err := condition(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-poll.C:
		case e := <-p.ended:
			return e.unexpected()
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("wait for %s: %w", what, ctx.Err()), err)
		}
	}
}

// watch returns nil when ctx ends and an error when a program does.
func (p *programs) watch(ctx context.Context) error {
	select {
	case e := <-p.ended:
		return e.unexpected()
	case <-ctx.Done():
		return nil
	}
}

func (p *programs) launch(name string, done chan<- exit, argv []string) error {
	log, err := os.OpenFile(filepath.Join(p.spec.Log, name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = append(os.Environ(), "PATH="+p.spec.Bin+":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	p.children[cmd.Process.Pid] = child{name, done}
	return nil
}

// reap collects every process that has ended.
func (p *programs) reap() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		if err != nil || pid <= 0 {
			return
		}
		if c, ok := p.children[pid]; ok {
			c.done <- exit{c.name, status}
			delete(p.children, pid)
		}
	}
}

// kill ends everything in the pid namespace but this process.
func (p *programs) kill() { _ = syscall.Kill(-1, syscall.SIGKILL) }

func (e exit) unexpected() error { return fmt.Errorf("%s ended: %s", e.name, describe(e.status)) }

func describe(status syscall.WaitStatus) string {
	if status.Signaled() {
		return "signal: " + status.Signal().String()
	}
	return fmt.Sprintf("exit status %d", status.ExitStatus())
}
