package systemd

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

// Check reports whether the loops of a program turn. It returns nil when they do, and may block as
// long as they do not.
type Check = func(ctx context.Context) error

// Manager speaks to the service manager of this process.
type Manager struct {
	log    *slog.Logger
	status string
}

// New returns the Manager that says status once the program is ready: a short line in words.
func New(log *slog.Logger, status string) *Manager { return &Manager{log, status} }

// Supervise says that the program is ready, and feeds the watchdog while alive passes. It returns
// when ctx ends.
func (m *Manager) Supervise(ctx context.Context, alive Check) {
	m.notify(daemon.SdNotifyReady + "\nSTATUS=" + m.status)
	limit, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		m.log.Warn("the watchdog is not fed: its variables are invalid", "err", err)
	}
	if err != nil || limit <= 0 {
		<-ctx.Done()
		return
	}
	m.feed(ctx, limit/3, alive)
}

// feed checks once a pause, and gives each check one pause of time.
func (m *Manager) feed(ctx context.Context, pause time.Duration, alive Check) {
	ticker := time.NewTicker(pause)
	defer ticker.Stop()
	failed := false
	for {
		err := within(ctx, pause, alive)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			failed = true
			m.log.Error("this program is not alive; the service manager will start it again", "err", err)
			m.notify("STATUS=not alive: " + err.Error())
		default:
			state := daemon.SdNotifyWatchdog
			if failed {
				failed, state = false, state+"\nSTATUS="+m.status
			}
			m.notify(state)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// within calls alive and waits for it at most for limit: a check that hangs is one that fails. Its
// goroutine ends with the check.
func within(ctx context.Context, limit time.Duration, alive Check) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- alive(ctx) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("no answer within %s", limit)
	}
}

// Stopping says that the program ends.
func (m *Manager) Stopping() { m.notify(daemon.SdNotifyStopping + "\nSTATUS=stopping") }

func (m *Manager) notify(state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		m.log.Warn("the service manager does not take messages", "err", err)
	}
}
