package kube

import (
	"context"
	"fmt"
	"time"
)

// Ready is a condition: the API server answers that it is ready.
func (c *Client) Ready(ctx context.Context) error {
	return c.Get(ctx, "/readyz", nil)
}

// Exists returns a condition: there is an object at the path.
func (c *Client) Exists(path string) func(context.Context) error {
	return func(ctx context.Context) error { return c.Get(ctx, path, nil) }
}

// Has returns a condition: the object at the path has a status condition of
// this type that is True, with a heartbeat not before since where it has
// heartbeats. What was written before a stop is thereby not taken for news.
func (c *Client) Has(path, condition string, since time.Time) func(context.Context) error {
	since = since.Truncate(time.Second) // as heartbeats are
	return func(ctx context.Context) error {
		var o struct {
			Status struct {
				Conditions []struct {
					Type, Status, Message string
					LastHeartbeatTime     *time.Time
				}
			}
		}
		if err := c.Get(ctx, path, &o); err != nil {
			return err
		}
		for _, have := range o.Status.Conditions {
			old := have.LastHeartbeatTime != nil && have.LastHeartbeatTime.Before(since)
			if have.Type == condition && have.Status == "True" && !old {
				return nil
			}
		}
		return fmt.Errorf("%s is not %s: %v", path, condition, o.Status.Conditions)
	}
}
