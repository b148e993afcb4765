package agent

import (
	"io"

	"skerry.dev/skerry/agent/spool"
	"skerry.dev/skerry/agent/streams"
	"skerry.dev/skerry/agent/view"
	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/exchange"
)

// podsOfSite returns what reaches the Pods of the site.
func podsOfSite(a *agent) *streams.Site {
	ahead := &spool.Limits{Memory: 64 << 10, Disk: 64 << 20, All: 256 << 20, Dir: a.DataDir}
	return &streams.Site{
		Client: a.clients.For,
		Pods:   a.observer,
		As:     a.applier.Gate.Accounts.Acting,
		There:  a.inventory.There,
		MayDebug: func(space string, spec, containers []byte) error {
			return a.permission.Policy().Debug(space, spec, containers)
		},
		Ahead: func(conn io.ReadWriteCloser) io.ReadWriteCloser { return spool.New(conn, ahead) },
	}
}

// streams returns what serves the streams that the parent opens into Pods.
func (a *agent) streams() tunnel.StreamHandler {
	cfg := streams.Config{Pods: a.observer, Log: a.Log}
	if a.audit != nil {
		cfg.Audit = a.audit.Note
	}
	switch {
	case !a.Config.Relay:
		cfg.Backend, cfg.Allow = a.pods, a.allowsStream
		cfg.View = &view.Site{Client: a.clients.For, Records: a.inventory, Pods: a.observer}
	case a.Children != nil:
		cfg.Backend = &streams.Relay{Client: a.clients.For, Children: a.Children, Owns: a.observer.Owns}
		cfg.View = &view.Relay{
			Client: a.clients.For, Records: a.inventory, Pods: a.observer, Children: a.Children,
		}
	default:
		return nil
	}
	return streams.New(cfg)
}

// allowsStream refuses what this site does not allow of a space.
func (a *agent) allowsStream(r *exchange.Request) error {
	return a.permission.Policy().Stream(r.Way(), r.Space, a.Name)
}
