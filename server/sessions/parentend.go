package sessions

import (
	"context"
	"errors"
	"log/slog"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/delta"
)

// parentEnd is the parent's end of a session: who decides about the child, and who learns what the
// child says.
type parentEnd struct {
	server  *Server
	session *session
	log     *slog.Logger
}

var (
	_ tunnel.Admitter = parentEnd{}
	_ tunnel.Listener = parentEnd{}
)

// Member implements tunnel.Admitter. It records agents that are no members.
func (p parentEnd) Member(id tunnel.Identity) error {
	err := p.server.member(id)
	var why *tunnel.Refused
	if errors.As(err, &why) && why.Reason == targetUnknown {
		p.server.unknownAgent(id.Target, p.session.conn.RemoteAddr().String(), why.Reason)
	}
	return err
}

// Admit implements tunnel.Admitter.
func (p parentEnd) Admit(ctx context.Context, id tunnel.Identity, hello tunnel.Hello) (tunnel.Admission, error) {
	return p.server.admit(ctx, p.session, id, hello)
}

// Sign implements tunnel.Admitter. A member gets a certificate for the key that it has proved.
func (p parentEnd) Sign(_ context.Context, id tunnel.Identity, csr []byte) (chainPEM, bundlePEM []byte, err error) {
	if err := p.server.member(id); err != nil {
		return nil, nil, err
	}
	if key, err := keyOf(csr); err != nil || key != id.Key {
		return nil, nil, errOtherKey
	}
	name := id.Target
	if id.Certified != "" { // the agent keeps the name of its certificate
		name = id.Certified
	}
	if chainPEM, err = p.server.cfg.Credentials.Sign(csr, name); err != nil {
		return nil, nil, err
	}
	p.log.Info("the target renewed its certificate")
	return chainPEM, p.server.cfg.Authorities.Bundle(), nil
}

// Acknowledged implements tunnel.Listener.
func (p parentEnd) Acknowledged(at store.Position) {
	if p.session.acknowledged(at) {
		p.server.targets.touch(p.session.target)
	}
	p.server.requestBarrier(p.session)
}

// Status implements tunnel.Listener.
func (p parentEnd) Status(said tunnel.ChildStatus, dropped int) {
	p.session.updateConditions(said, dropped, p.log)
	p.server.accepted(p.session)
	p.server.targets.touch(p.session.target)
}

// Credentials implements tunnel.Listener.
func (p parentEnd) Credentials(has tunnel.CredentialStatus) {
	p.session.hold(has)
	p.server.offer(p.session)
	p.server.targets.touch(p.session.target)
}

// Held implements tunnel.Listener.
func (p parentEnd) Held(h delta.Held) {
	p.session.lose(h)
	p.server.accepted(p.session)
	p.server.targets.touch(p.session.target)
}

// NotConnected implements tunnel.Listener.
func (p parentEnd) NotConnected(n tunnel.NotConnected) {
	p.server.links.NotConnected(p.session.conn.Peer(), n)
}

// Wanted implements tunnel.Listener.
func (p parentEnd) Wanted(w tunnel.Wanted) { p.server.links.Bring(asking{p.session}, w) }
