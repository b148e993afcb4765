package quic

import (
	"context"
	"crypto/tls"
	"errors"
	"net"

	quicgo "github.com/quic-go/quic-go"

	"skerry.dev/skerry/tunnel"
)

// Packets is how many packets a connection has sent and received; each is a datagram once the
// handshake is over.
func Packets(c tunnel.Conn) (sent, received uint64) {
	s := c.(*conn).quic.ConnectionStats()
	return s.PacketsSent, s.PacketsReceived
}

// DialOver is Dial over a socket that a test has made.
func DialOver(ctx context.Context, socket net.PacketConn, to net.Addr, cfg DialConfig) (tunnel.Conn, error) {
	return dialOver(ctx, socket, to, cfg)
}

// The sizes of heartbeats.
const (
	QuestionBytes uint64 = questionBytes
	AnswerBytes   uint64 = answerBytes
)

// DialAsBefore is DialOver of a child that knows no heartbeats beside QUIC.
func DialAsBefore(ctx context.Context, socket net.PacketConn, to net.Addr, config *tls.Config) (tunnel.Conn, error) {
	c := childConfig()
	c.MaxIdleTimeout, c.KeepAlivePeriod = tunnel.Idle, tunnel.IdleKeepAlive
	transport := &quicgo.Transport{Conn: socket}
	q, err := transport.Dial(ctx, to, config, c)
	if err != nil {
		return nil, err
	}
	context.AfterFunc(q.Context(), func() { _ = transport.Close() })
	return &conn{quic: q}, nil
}

// AsBefore makes a listener one of a parent that knows no heartbeats beside QUIC. It has no
// connections yet.
func (l *Listener) AsBefore(packet net.PacketConn, config *tls.Config) error {
	if err := errors.Join(l.quic.Close(), l.transport.Close()); err != nil {
		return err
	}
	c := parentConfig()
	c.MaxIdleTimeout = tunnel.Idle
	l.transport = &quicgo.Transport{Conn: packet}
	var err error
	l.quic, err = l.transport.Listen(config, c)
	return err
}

// Strange is how many datagrams that are no heartbeats came, and Heard how many connections are
// heard.
func (l *Listener) Strange() (strange uint64, heard int) {
	l.heartbeats.mu.Lock()
	defer l.heartbeats.mu.Unlock()
	return l.heartbeats.strange, len(l.heartbeats.heard)
}

// Questions returns a function that makes the next question of the child of a parent's connection.
func Questions(parent tunnel.Conn) func() []byte {
	c, counter := parent.(*conn), uint32(0)
	return func() []byte {
		counter++
		return c.secret.question(counter)
	}
}

// StreamEnded is what a stream of a connection returns of an error of quic-go.
func StreamEnded(of tunnel.Conn, err error) error { return of.(*conn).ended(err) }
