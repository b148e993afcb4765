package tunneltest

import (
	"context"
	"errors"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/delta"
)

// Parent is a tunnel.Admitter and a tunnel.Listener for tests. Without functions everybody is a
// member and is admitted to Feed and Inbox, nothing is signed, and nobody hears what a child says.
type Parent struct {
	Feed  *store.Feed
	Inbox store.Sink

	OnMember       func(who tunnel.Identity) error
	OnAdmit        func(context.Context, tunnel.Identity, tunnel.Hello) (tunnel.Admission, error)
	OnSign         func(who tunnel.Identity, csrPEM []byte) (chainPEM, bundlePEM []byte, err error)
	OnAck          func(store.Position)
	OnStatus       func(tunnel.ChildStatus)
	OnCredentials  func(tunnel.CredentialStatus)
	OnHeld         func(delta.Held)
	OnNotConnected func(tunnel.NotConnected)
	OnWanted       func(tunnel.Wanted)
}

// Config returns the configuration of a session at this parent.
func (p Parent) Config() tunnel.ParentConfig { return tunnel.ParentConfig{Admitter: p, Listener: p} }

// Member implements tunnel.Admitter.
func (p Parent) Member(who tunnel.Identity) error {
	if p.OnMember == nil {
		return nil
	}
	return p.OnMember(who)
}

// Admit implements tunnel.Admitter.
func (p Parent) Admit(ctx context.Context, who tunnel.Identity, hello tunnel.Hello) (tunnel.Admission, error) {
	if p.OnAdmit == nil {
		return tunnel.Admission{Feed: p.Feed, Inbox: p.Inbox}, nil
	}
	return p.OnAdmit(ctx, who, hello)
}

// Sign implements tunnel.Admitter.
func (p Parent) Sign(_ context.Context, who tunnel.Identity, csrPEM []byte) ([]byte, []byte, error) {
	if p.OnSign == nil {
		return nil, nil, errors.New("this parent does not renew certificates")
	}
	return p.OnSign(who, csrPEM)
}

// Acknowledged implements tunnel.Listener.
func (p Parent) Acknowledged(at store.Position) { call(p.OnAck, at) }

// Status implements tunnel.Listener.
func (p Parent) Status(said tunnel.ChildStatus, _ int) { call(p.OnStatus, said) }

// Credentials implements tunnel.Listener.
func (p Parent) Credentials(has tunnel.CredentialStatus) { call(p.OnCredentials, has) }

// Held implements tunnel.Listener.
func (p Parent) Held(h delta.Held) { call(p.OnHeld, h) }

// NotConnected implements tunnel.Listener.
func (p Parent) NotConnected(n tunnel.NotConnected) { call(p.OnNotConnected, n) }

// Wanted implements tunnel.Listener.
func (p Parent) Wanted(w tunnel.Wanted) { call(p.OnWanted, w) }

func call[T any](f func(T), v T) {
	if f != nil {
		f(v)
	}
}
