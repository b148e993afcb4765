package scenarios

import (
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// processes are the background processes of one script. Each is ended by its
// own handle, which is good until it has been waited for.
type processes struct {
	running []*backgroundProcess
}

type backgroundProcess struct {
	name  string
	cmd   *exec.Cmd
	ended chan struct{}
}

// background is the script command bg.
func background(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: bg NAME COMMAND [ARGUMENT...]")
	}
	all := ts.Value(processesKey{}).(*processes)
	name := args[0]
	if p := all.find(name); p != nil {
		select {
		case <-p.ended: // it has said why, and was about to
		case <-time.After(patience * endGrace):
			ts.Fatalf("process %s runs already", name)
		}
	}
	cmd, err := scriptCommand(ts, resolve(ts, args[1:]))
	ts.Check(err)
	// A process that starts again goes on in the same log.
	log, err := os.OpenFile(ts.MkAbs(name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	ts.Check(err)
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	// It ends with the test, even if that is killed.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	ts.Check(cmd.Start())
	p := &backgroundProcess{name: name, cmd: cmd, ended: make(chan struct{})}
	go func() {
		_ = cmd.Wait() // its log says why it ended
		close(p.ended)
	}()
	all.running = append(all.running, p)
}

// endBackground is the script commands bgstop and bgkill.
func endBackground(kill bool) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) != 1 {
			ts.Fatalf("usage: bgstop NAME, bgkill NAME")
		}
		all := ts.Value(processesKey{}).(*processes)
		p := all.find(args[0])
		if p == nil {
			ts.Fatalf("no process %s runs", args[0])
		}
		if !p.end(kill) {
			ts.Fatalf("process %s did not end within %s of SIGTERM", p.name, patience*endGrace)
		}
	}
}

// find returns the process of a name that runs.
func (all *processes) find(name string) *backgroundProcess {
	for _, p := range all.running {
		if p.name == name && p.lives() {
			return p
		}
	}
	return nil
}

// end ends all, the last one first.
func (all *processes) end() {
	for i := len(all.running) - 1; i >= 0; i-- {
		all.running[i].end(false)
	}
}

// endGrace is how long a process has to end by itself.
const endGrace = 10 * time.Second

func (p *backgroundProcess) lives() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// end ends the process and says whether it did as it was asked.
func (p *backgroundProcess) end(kill bool) bool {
	asked := os.Signal(syscall.SIGTERM)
	if kill {
		asked = os.Kill
	}
	_ = p.cmd.Process.Signal(asked) // an error means that it has ended
	select {
	case <-p.ended:
		return true
	case <-time.After(patience * endGrace):
		_ = p.cmd.Process.Kill()
		<-p.ended
		return false
	}
}
