package server

import (
	"skerry.dev/skerry/server/pki"
	"skerry.dev/skerry/server/sessions"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/boottime"
	"skerry.dev/skerry/tunnel/lease"
)

var (
	_ sessions.Center      = sessionsCenter{}
	_ sessions.Credentials = agentCredentials{}
)

// sessionsCenter is the process as package sessions sees it.
type sessionsCenter struct{ server *Server }

// Above implements sessions.Center.
func (c sessionsCenter) Above() []store.Incarnation { return c.server.above() }

// Leads implements sessions.Center.
func (c sessionsCenter) Leads() bool { return c.server.lead == nil || c.server.lead.holds() }

// Lease implements sessions.Center.
func (c sessionsCenter) Lease() (lease.Own, bool) {
	if c.server.cfg.ParentLease == nil {
		return lease.Own{}, true
	}
	return c.server.cfg.ParentLease.Own(boottime.Now())
}

// Connected implements sessions.Center.
func (c sessionsCenter) Connected() { c.server.pacing.gc.arrives() }

// Withheld implements sessions.Center.
func (c sessionsCenter) Withheld(target string, in tunnel.WithheldIn) {
	c.server.reportWithheld(target, in)
}

// Rotated implements sessions.Center.
func (c sessionsCenter) Rotated() { c.server.rotated() }

// Streams implements sessions.Center.
func (c sessionsCenter) Streams(who tunnel.Identity) tunnel.StreamHandler {
	return c.server.gateway.For(who)
}

// agentCredentials are the center's certificate, and its word for agents' certificates.
type agentCredentials struct {
	*pki.Serving
	server *Server
}

// Sign implements sessions.Credentials.
func (c agentCredentials) Sign(csr []byte, name string) ([]byte, error) {
	return c.server.keys.SignAgent(csr, name, c.server.store.Incarnation())
}
