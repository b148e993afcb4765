package main

import (
	"context"
	"time"

	"github.com/k3s-io/kine/pkg/drivers/generic"
	"github.com/k3s-io/kine/pkg/endpoint"
)

// listenStore opens the store and serves it as etcd on the socket. The values
// are kine's own defaults, which its command sets but its library does not.
func listenStore(ctx context.Context, cfg *serverConfig) error {
	_, err := endpoint.Listen(ctx, endpoint.Config{
		Listener:            "unix://" + cfg.StoreSocket,
		Endpoint:            cfg.Store,
		NotifyInterval:      5 * time.Second,
		CompactInterval:     5 * time.Minute,
		CompactTimeout:      5 * time.Second,
		CompactMinRetain:    1000,
		CompactBatchSize:    1000,
		PollBatchSize:       500,
		EmulatedETCDVersion: "3.5.13",
		ConnectionPoolConfig: generic.ConnectionPoolConfig{
			MaxIdle: 2,
			MaxOpen: 5,
		},
	})
	return err
}
