package agent

import (
	"context"
	"fmt"
)

// Supervisor is told that an agent runs. Package systemd implements it.
type Supervisor interface {
	// Supervise is called once the agent's loops run, and returns when ctx ends. alive returns nil
	// while they turn, and may block while they do not.
	Supervise(ctx context.Context, alive func(context.Context) error)
}

// alive reports whether the loops turn: the inventory's, the queue of what is to be applied, and
// writes to agent.db. A parent, a cluster or a disk that refuses is no death.
func (a *agent) alive(ctx context.Context) error {
	if err := a.inventory.Alive(ctx); err != nil {
		return fmt.Errorf("the inventory's loop is stuck: %w", err)
	}
	a.applier.Pending()
	if err := a.file.Turn(); err != nil {
		return fmt.Errorf("the store takes no write: %w", err)
	}
	return nil
}
