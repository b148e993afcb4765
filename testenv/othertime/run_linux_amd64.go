package othertime

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
	"time"
)

// Of the kernel's ABI, what package syscall does not name.
const (
	optionExitKill     = 0x100000 // PTRACE_O_EXITKILL: it ends with this process
	systemCall         = syscall.SIGTRAP | 0x80
	waitAll            = 0x40000000 // __WALL: threads, too
	sysClockGettime    = 228
	clockOfDay         = 0 // CLOCK_REALTIME
	lookEvery          = 100 * time.Millisecond
	traceSystemCalls   = syscall.PTRACE_O_TRACESYSGOOD
	traceThreads       = syscall.PTRACE_O_TRACECLONE
	secondsOfTimestamp = 8
)

// Run runs the program to its end and returns its exit status. SIGTERM and SIGINT are passed on.
func Run(cfg Config) (status int, err error) {
	runtime.LockOSThread() // a tracer is a thread
	defer runtime.UnlockOSThread()
	cmd := exec.Command(cfg.Command[0], cfg.Command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	pid := cmd.Process.Pid
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		for {
			select {
			case s := <-signals:
				_ = syscall.Kill(pid, s.(syscall.Signal))
			case <-ended:
				return
			}
		}
	}()
	memory, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0)
	if err != nil {
		return 0, errors.Join(err, cmd.Process.Kill())
	}
	defer memory.Close()
	t := &tracer{pid: pid, memory: memory, behind: time.Since(cfg.At), until: cfg.Until, known: map[int]bool{pid: true}}
	if err := t.begin(); err != nil {
		return 0, errors.Join(fmt.Errorf("trace %s: %w", cfg.Command[0], err), cmd.Process.Kill())
	}
	return t.run()
}

// tracer is what one program is traced with.
type tracer struct {
	pid    int
	memory *os.File
	behind time.Duration // how far its clock is behind
	until  string
	looked time.Time // for the file until
	known  map[int]bool
}

// begin takes up a program that has not run its first instruction.
func (t *tracer) begin() error {
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(t.pid, &status, waitAll, nil); err != nil {
		return err
	}
	if !status.Stopped() {
		return fmt.Errorf("it has ended: %v", status)
	}
	if err := syscall.PtraceSetOptions(t.pid, traceSystemCalls|traceThreads|optionExitKill); err != nil {
		return err
	}
	if err := t.hideShortcut(); err != nil {
		return fmt.Errorf("hide the vDSO: %w", err)
	}
	return syscall.PtraceSyscall(t.pid, 0)
}

// run goes along with the program until it ends.
func (t *tracer) run() (int, error) {
	for {
		var status syscall.WaitStatus
		thread, err := syscall.Wait4(-1, &status, waitAll, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case err != nil:
			return 0, err
		case thread == t.pid && status.Exited():
			return status.ExitStatus(), nil
		case thread == t.pid && status.Signaled():
			return 128 + int(status.Signal()), nil
		case !status.Stopped():
			delete(t.known, thread)
			continue
		}
		pass := 0
		switch s := status.StopSignal(); {
		case s == systemCall:
			t.shift(thread)
		case s == syscall.SIGTRAP: // a new thread was made
		case s == syscall.SIGSTOP && !t.known[thread]: // and begins
		default:
			pass = int(s)
		}
		t.known[thread] = true
		if err := syscall.PtraceSyscall(thread, pass); err != nil && !errors.Is(err, syscall.ESRCH) { // it was killed
			return 0, err
		}
	}
}

// shift corrects what a thread is about to be told of the time.
func (t *tracer) shift(thread int) {
	var regs syscall.PtraceRegs
	if syscall.PtraceGetRegs(thread, &regs) != nil || regs.Orig_rax != sysClockGettime || regs.Rdi != clockOfDay ||
		regs.Rax != 0 {
		return // another call, or one that begins: its answer is not there yet
	}
	if t.behind == 0 || t.right() {
		return
	}
	var seconds [secondsOfTimestamp]byte
	if _, err := t.memory.ReadAt(seconds[:], int64(regs.Rsi)); err != nil {
		return // the thread was killed
	}
	order.PutUint64(seconds[:], order.Uint64(seconds[:])-uint64(t.behind/time.Second))
	_, _ = t.memory.WriteAt(seconds[:], int64(regs.Rsi)) // fails when the thread was killed
}

// right tells whether somebody has set the clock.
func (t *tracer) right() bool {
	if t.until == "" || time.Since(t.looked) < lookEvery {
		return false
	}
	t.looked = time.Now()
	if _, err := os.Stat(t.until); errors.Is(err, fs.ErrNotExist) {
		return false
	}
	t.behind = 0
	return true
}
