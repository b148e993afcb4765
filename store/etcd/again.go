package etcd

import (
	"context"
	"errors"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	// againFor is how long a step of a restore is tried while members come and go.
	againFor = time.Minute
	// againPause is how long it waits before it is tried again.
	againPause = 500 * time.Millisecond
)

// again does a step that may be done twice, until the cluster can do it.
func again(ctx context.Context, do func() error) error {
	for until := time.Now().Add(againFor); ; {
		err := do()
		if err == nil || !passes(err) || time.Now().After(until) || ctx.Err() != nil {
			return err
		}
		select {
		case <-time.After(againPause):
		case <-ctx.Done():
			return err
		}
	}
}

// passes reports whether an error is of a member that is away, or of a leader that changes.
func passes(err error) bool {
	code := status.Code(err)
	var told rpctypes.EtcdError
	if errors.As(err, &told) {
		code = told.Code()
	}
	return code == codes.Unavailable || code == codes.DeadlineExceeded
}
