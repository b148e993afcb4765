package ingress

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
)

const recordHandshake = 0x16

// mostHello bounds a ClientHello: one record of TLS, with its head.
const mostHello = 5 + 16<<10

var errNoHello = errors.New("no ClientHello")

// readHello reads the first record of TLS and the name that it asks for, empty for none. What was read is returned.
func readHello(c io.Reader) (hello []byte, name string, err error) {
	hello = make([]byte, 5, 1<<10)
	if _, err := io.ReadFull(c, hello); err != nil {
		return nil, "", err
	}
	n := int(hello[3])<<8 | int(hello[4])
	if n+len(hello) > mostHello {
		return nil, "", errNoHello
	}
	rest := make([]byte, n)
	if _, err := io.ReadFull(c, rest); err != nil {
		return nil, "", err
	}
	hello = append(hello, rest...)
	found := false
	_ = tls.Server(onlyRead{r: bytes.NewReader(hello)}, &tls.Config{
		GetConfigForClient: func(h *tls.ClientHelloInfo) (*tls.Config, error) {
			name, found = h.ServerName, true
			return nil, errNoHello // this is all that is wanted
		}}).Handshake() // which fails
	if !found {
		return nil, "", errNoHello
	}
	return hello, name, nil
}

// onlyRead is a connection that has what was read of another one.
type onlyRead struct {
	net.Conn
	r io.Reader
}

// Read implements net.Conn.
func (c onlyRead) Read(b []byte) (int, error) { return c.r.Read(b) }

// Write implements net.Conn.
func (onlyRead) Write(b []byte) (int, error) { return len(b), nil }
