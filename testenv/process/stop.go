package process

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// killTimeout bounds the wait for a killed process: its memory, namespaces and
// children may take the kernel a while to undo.
const killTimeout = 20 * time.Second

// stop ends this very process and returns when it has ended. It signals through
// a pidfd that is opened before the identity is checked, so that no other
// process can be hit.
func (id Identity) stop(ctx context.Context) error {
	fd, err := unix.PidfdOpen(id.PID, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("pidfd of %d: %w", id.PID, err)
	}
	defer unix.Close(fd)
	if !id.Alive() {
		return nil
	}
	if ctx.Err() == nil {
		if err := signal(fd, unix.SIGTERM); err != nil {
			return err
		}
		if ended(ctx, fd) {
			return nil
		}
	}
	if err := signal(fd, unix.SIGKILL); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), killTimeout)
	defer cancel()
	if !ended(ctx, fd) {
		return fmt.Errorf("process %d still exists %s after SIGKILL", id.PID, killTimeout)
	}
	return nil
}

// KillIf kills a process that is known by its id alone, if the condition holds
// while no other process can have taken the id.
func KillIf(pid int, condition func() bool) error {
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if !condition() {
		return nil
	}
	return signal(fd, unix.SIGKILL)
}

func signal(pidfd int, sig unix.Signal) error {
	err := unix.PidfdSendSignal(pidfd, sig, nil, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	return err
}

// ended waits until the process has ended (a pidfd becomes readable then, also
// for a zombie) or ctx ends, and says which.
func ended(ctx context.Context, pidfd int) bool {
	const slice = 100 // milliseconds between looks at ctx
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}, slice)
		if err == nil && n > 0 {
			return true
		}
		if ctx.Err() != nil {
			return false
		}
	}
}
