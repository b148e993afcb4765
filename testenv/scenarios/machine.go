package scenarios

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

const (
	// bootTimeout bounds the boot of a machine.
	bootTimeout = time.Minute
	// machineVariable names the tree of Debian files that machines boot from.
	machineVariable = "SKERRY_MACHINE_ROOT"
)

// machine is a Debian whose first process is systemd, in namespaces of its own (systemd-nspawn).
type machine struct {
	name string
	pid  int // of systemd-nspawn
}

// machineCommand is the script command machine.
func (r *runner) machineCommand(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 || neg && args[0] != "exec" {
		ts.Fatalf("usage: machine boot NAME NETNS, machine reboot|kill NAME, machine exec NAME COMMAND")
	}
	switch args[0] {
	case "boot":
		if len(args) != 3 {
			ts.Fatalf("usage: machine boot NAME NETNS")
		}
		bootMachine(ts, args[1], args[2])
	case "reboot":
		rebootMachine(ts, args[1], func(m *machine) {
			_ = m.command("systemctl reboot").Run() // the connection goes with the machine
		})
	case "kill":
		rebootMachine(ts, args[1], func(m *machine) { _ = syscall.Kill(m.leader(), syscall.SIGKILL) })
	case "exec":
		cmd := machineOf(ts, args[1]).command(strings.Join(args[2:], " "))
		err := ts.Exec(cmd.Path, cmd.Args[1:]...)
		if (err == nil) == neg {
			ts.Fatalf("machine exec %s: %v\n%s", args[1], err, machineOf(ts, args[1]).journal())
		}
	default:
		ts.Fatalf("no machine command %q", args[0])
	}
}

// journal returns the newest lines of Skerry's services on a machine.
func (m *machine) journal() []byte {
	out, err := m.command("journalctl --no-pager -n 60 -u 'skerry-*'").CombinedOutput()
	if err != nil {
		return fmt.Appendf(out, "journalctl: %v\n", err)
	}
	return out
}

// bootMachine boots a machine of files of its own over the shared tree, in a network namespace.
func bootMachine(ts *testscript.TestScript, name, netns string) {
	root := os.Getenv(machineVariable)
	if _, err := os.Stat(filepath.Join(root, "sbin", "init")); root == "" || err != nil {
		ts.Fatalf("%s is no tree with systemd: make systemd", machineVariable)
	}
	dir := ts.MkAbs(name + ".machine")
	for _, sub := range []string{"upper", "work", "root"} {
		ts.Check(os.MkdirAll(filepath.Join(dir, sub), 0o755))
	}
	merged := filepath.Join(dir, "root")
	layers := fmt.Sprintf("lowerdir=%s,upperdir=%s/upper,workdir=%s/work", root, dir, dir)
	ts.Check(syscall.Mount("overlay", merged, "overlay", 0, layers))
	ts.Defer(func() { ts.Check(syscall.Unmount(merged, syscall.MNT_DETACH)) })
	startMachine(ts, name, netns)
}

// startMachine boots the files of a machine, and waits until it has booted.
func startMachine(ts *testscript.TestScript, name, netns string) {
	merged := filepath.Join(ts.MkAbs(name+".machine"), "root")
	background(ts, false, []string{name + "-console", "systemd-nspawn", "-D", merged, "-b", "--register=no", "--keep-unit",
		"-M", fmt.Sprintf("skerry-%d-%s", os.Getpid(), name), "--network-namespace-path=/run/netns/" + netns,
		"--bind-ro=" + filepath.Dir(os.Getenv("SKERRY_BIN")) + ":/dist"})
	p := ts.Value(processesKey{}).(*processes).find(name + "-console")
	m := &machine{name, p.cmd.Process.Pid}
	m.wait(ts)
}

// rebootMachine stops a machine and boots its files again. nspawn would do so itself, but ends where
// /run is on a disk. A machine whose first process is killed loses all others at the same moment.
func rebootMachine(ts *testscript.TestScript, name string, stop func(*machine)) {
	p := ts.Value(processesKey{}).(*processes).find(name + "-console")
	netns := ""
	for _, arg := range p.cmd.Args {
		if _, after, found := strings.Cut(arg, "--network-namespace-path=/run/netns/"); found {
			netns = after
		}
	}
	stop(machineOf(ts, name))
	select {
	case <-p.ended:
	case <-time.After(patience * bootTimeout):
		ts.Fatalf("machine %s does not stop\n%s", name, readLog(ts, name+"-console"))
	}
	startMachine(ts, name, netns)
}

// machineOf finds a machine of this script by the name of its console.
func machineOf(ts *testscript.TestScript, name string) *machine {
	p := ts.Value(processesKey{}).(*processes).find(name + "-console")
	if p == nil {
		ts.Fatalf("machine %s does not run\n%s", name, readLog(ts, name+"-console"))
	}
	return &machine{name, p.cmd.Process.Pid}
}

// leader is the process that is the machine's first, 0 when there is none now.
func (m *machine) leader() (pid int) {
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", m.pid, m.pid))
	if err == nil {
		_, _ = fmt.Sscan(string(children), &pid)
	}
	return pid
}

// wait waits until the machine has booted.
func (m *machine) wait(ts *testscript.TestScript) {
	waitFor(ts, m.name+"-console", bootTimeout, func() error {
		if m.leader() == 0 {
			return errors.New("it has not begun to boot")
		}
		out, err := m.command("systemctl is-system-running").CombinedOutput()
		state := strings.TrimSpace(string(out))
		if state != "running" && state != "degraded" {
			return fmt.Errorf("it is %q: %v", state, err)
		}
		return nil
	})
}

// command is a shell's command inside of the machine, as its root.
func (m *machine) command(line string) *exec.Cmd {
	return exec.Command("nsenter", "-t", fmt.Sprint(m.leader()), "-m", "-u", "-i", "-n", "-p", "--",
		"/usr/bin/env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "bash", "-euc", line)
}
