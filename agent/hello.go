package agent

import (
	"context"
	"time"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/tunnel"
)

// versionTime bounds how long a session waits for the target's version, which only people read.
const versionTime = 2 * time.Second

func (a *agent) hello(ctx context.Context) tunnel.Hello {
	h := tunnel.Hello{AgentVersion: a.Version, Relay: a.Config.Relay, Force: a.Force, Center: a.Center, Renames: true}
	ctx, cancel := context.WithTimeout(ctx, versionTime)
	defer cancel()
	client, err := a.clients.For(target.RootSpace)
	if err == nil {
		h.KubernetesVersion, err = client.Version(ctx)
	}
	if err != nil {
		a.Log.Debug("version of the target not known", "err", err)
	}
	if a.Config.Relay {
		return h
	}
	if h.Cluster = a.known.get().Cluster; err == nil {
		if now, err := client.Identify(ctx); err == nil {
			h.Cluster = now.Cluster
		}
	}
	a.known.recordTold(h.Cluster)
	return h
}
