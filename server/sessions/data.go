package sessions

import (
	"context"
	"crypto/tls"
	"errors"
	"net/netip"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/data"
	"skerry.dev/skerry/tunnel/enroll"
	"skerry.dev/skerry/tunnel/mux"
	"skerry.dev/skerry/tunnel/quic"
	"skerry.dev/skerry/tunnel/tcp"
)

// dataBudget is how many bytes the windows of all data connections of a center may promise: 2,048
// streams that have just begun, or 48 that have grown as far as they may.
const dataBudget = 256 << 20

// newLinks returns the parent's data connections.
func (srv *Server) newLinks(metrics *data.Metrics) *data.Links {
	return data.NewLinks(data.LinksConfig{
		Config: data.Config{Budget: srv.budget, Meter: srv.meter, Metrics: metrics},
		Serve:  srv.cfg.Center.Streams,
		OnEnd:  func(l *data.Link) { srv.accountData(l, time.Now()) },
	})
}

// OpenStream implements tunnel.StreamOpener. The data connection of a target may outlive its
// session; a target with neither is away. It fails with mux.ErrTooManyStreams where the target has
// as many as it may.
func (srv *Server) OpenStream(ctx context.Context, target string) (tunnel.Stream, error) {
	var asked data.Session
	if s := srv.session(target); s != nil && srv.member(s.conn.Peer()) == nil { // else it is ending
		asked = asking{s}
	}
	stream, err := srv.links.Open(ctx, target, asked)
	if err == nil || ctx.Err() != nil || errors.Is(err, mux.ErrTooManyStreams) {
		return stream, err
	}
	return nil, &tunnel.Away{Target: target, Since: srv.lastKnown(target), Reason: err.Error()}
}

// lastKnown is when a target was last heard of, zero when it never was.
func (srv *Server) lastKnown(target string) time.Time {
	if s := srv.session(target); s != nil {
		return s.lastHeard()
	}
	if at, left := srv.disconnected(target); left {
		return at
	}
	if known, ok := srv.targets.get(target); ok && known.object.Status.LastSeen != nil {
		return known.object.Status.LastSeen.Time
	}
	return time.Time{}
}

// asking is a session that is asked for a data connection.
type asking struct{ s *session }

// Peer implements data.Session.
func (a asking) Peer() tunnel.Identity { return a.s.conn.Peer() }

// Source implements data.Session.
func (a asking) Source() netip.Prefix { return tunnel.SourceOf(a.s.conn.RemoteAddr()) }

// Instance implements data.Session.
func (a asking) Instance() string { return a.s.hello.Instance }

// Ask implements data.Session.
func (a asking) Ask(c tunnel.Connect) bool { return a.s.commands.Put(c) }

// takes returns what the listeners do with data connections.
func (srv *Server) takes(ctx context.Context) (overQUIC quic.DataConfig, overTCP func(*tcp.Data)) {
	overQUIC = quic.DataConfig{Expects: srv.links.ExpectsFrom, Budget: srv.budget,
		Take: func(c *quic.Data) { srv.links.Take(ctx, c) }}
	return overQUIC, func(c *tcp.Data) { srv.links.Take(ctx, c) }
}

// endData ends the data connection of a target whose holder does not, or no longer, belong here.
func (srv *Server) endData(target string, why error) {
	srv.links.End(target, why, func(who tunnel.Identity) bool { return srv.member(who) == nil })
}

// verify lets an agent's handshake pass, or not. A data connection that nobody has asked for ends
// with its handshake, before it costs anything.
func (srv *Server) verify(s tls.ConnectionState) error {
	if err := enroll.VerifyAgent(s.PeerCertificates[0], srv.cfg.Authorities.AgentCAs()); err != nil {
		return err
	}
	if s.NegotiatedProtocol != tunnel.DataALPN {
		return nil
	}
	who, err := enroll.IdentityOf(s.PeerCertificates[0])
	if err == nil && !srv.links.Expects(srv.Resolve(who)) {
		err = tunnel.ErrUnasked
	}
	return err
}

// accountData counts what has crossed a data connection since the last call.
func (srv *Server) accountData(l *data.Link, at time.Time) {
	name := l.Peer().Target
	known, ok := srv.targets.get(name)
	if !ok {
		return
	}
	c := l.Crossed()
	by := v1alpha1.BytesByPurpose{Streams: int64(c.Streams), Transport: int64(c.Transport)}
	crossed := crossing{down: int64(c.Sent), up: int64(c.Received), by: by}
	today := srv.usage.add(name, known, at, crossed, known.link.quiet.at(at))
	if s := srv.session(name); s != nil {
		s.use.Set(known.link.use(at, today.Budgeted))
		s.markChanged()
	}
}
