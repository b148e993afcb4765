package kube

import (
	"context"
	"fmt"
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
// this type that is True.
func (c *Client) Has(path, condition string) func(context.Context) error {
	return func(ctx context.Context) error {
		var o struct {
			Status struct {
				Conditions []struct{ Type, Status, Message string }
			}
		}
		if err := c.Get(ctx, path, &o); err != nil {
			return err
		}
		for _, have := range o.Status.Conditions {
			if have.Type == condition && have.Status == "True" {
				return nil
			}
		}
		return fmt.Errorf("%s is not %s: %v", path, condition, o.Status.Conditions)
	}
}
