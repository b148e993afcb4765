package tunneltest

import (
	"context"
	"crypto/tls"
	"testing"
	"time"

	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/enroll"
)

// RefusesStrangers checks that only an agent of this center gets a connection, and that an impostor
// of the center gets none. accept and dial are the two ends of the transport.
func (c *Center) RefusesStrangers(
	t *testing.T,
	accept func(context.Context) (tunnel.Conn, error),
	dial func(*tls.Config) (tunnel.Conn, error),
) {
	t.Helper()
	accepted := make(chan tunnel.Conn, 10)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		for {
			conn, err := accept(ctx)
			if err != nil {
				close(accepted)
				return
			}
			accepted <- conn
		}
	}()
	none, impostor := c.Site(t), c.Site(t)
	none.Certificates = nil
	impostor.RootCAs = NewAuthority(t, "another center").Pool()
	for name, config := range map[string]*tls.Config{
		"no certificate": none, "certificate of the server's CA": c.Child(t, c.Server, enroll.Organization, "a"),
		"not an agent's": c.Child(t, c.Agents, "system:masters", "a"), "another center": impostor,
	} {
		conn, err := dial(config)
		if err != nil {
			continue
		}
		// With TLS 1.3 a client learns that it was refused after its own side of the handshake.
		select {
		case <-conn.Done():
		case <-time.After(5 * time.Second):
			t.Errorf("%s: the connection stands", name)
		}
		conn.Close(nil)
	}
	cancel()
	for conn := range accepted {
		t.Errorf("a stranger was accepted as %q", conn.Peer().Target)
	}
}
