package drive

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// Open sends a GET and returns the body of a successful answer as it comes.
func (k *Kube) Open(ctx context.Context, path string) (io.ReadCloser, error) {
	res, err := k.send(ctx, http.MethodGet, path, "", nil)
	if err != nil {
		return nil, err
	}
	if res.StatusCode >= 300 {
		defer res.Body.Close()
		text, _ := io.ReadAll(io.LimitReader(res.Body, 1<<16))
		return nil, &StatusError{res.StatusCode, string(text)}
	}
	return res.Body, nil
}

// Raw is a connection to a kube API of its own, over HTTP/1.1, that its owner may break at any
// point.
type Raw struct {
	net.Conn
	In *bufio.Reader
	k  *Kube
}

// Dial opens a connection to the kube API.
func (k *Kube) Dial(ctx context.Context) (*Raw, error) {
	u, err := url.Parse(k.base)
	if err != nil {
		return nil, err
	}
	config := k.http.Transport.(*http.Transport).TLSClientConfig.Clone()
	config.NextProtos = []string{"http/1.1"}
	conn, err := (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", u.Host)
	if err != nil {
		return nil, err
	}
	return &Raw{Conn: conn, In: bufio.NewReader(conn), k: k}, nil
}

// Head is the text of a GET. With a protocol it asks for an upgrade to WebSocket.
func (r *Raw) Head(path, protocol string) (string, error) {
	u, err := url.Parse(r.k.base + path)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "GET %s HTTP/1.1\r\nHost: %s\r\n", u.RequestURI(), u.Host)
	if r.k.auth != "" {
		fmt.Fprintf(&b, "Authorization: %s\r\n", r.k.auth)
	}
	if protocol != "" {
		b.WriteString("Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n" +
			"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Protocol: " + protocol + "\r\n")
	}
	b.WriteString("\r\n")
	return b.String(), nil
}

// Get sends a request and reads the head of the answer, which is of this code.
func (r *Raw) Get(path, protocol string, code int) (*http.Response, error) {
	head, err := r.Head(path, protocol)
	if err != nil {
		return nil, err
	}
	if _, err := io.WriteString(r, head); err != nil {
		return nil, err
	}
	res, err := http.ReadResponse(r.In, &http.Request{Method: http.MethodGet})
	if err != nil {
		return nil, err
	}
	if res.StatusCode != code {
		text, _ := io.ReadAll(io.LimitReader(res.Body, 1<<16))
		return nil, &StatusError{res.StatusCode, string(text)}
	}
	return res, nil
}

// Exec runs a command in a container and returns its standard output. path is the Pod's.
func (r *Raw) Exec(path string, command ...string) (string, error) {
	q := url.Values{"stdout": {"true"}, "stderr": {"true"}, "command": command}
	if _, err := r.Get(path+"/exec?"+q.Encode(), "v5.channel.k8s.io", http.StatusSwitchingProtocols); err != nil {
		return "", err
	}
	var out strings.Builder
	for {
		op, payload, err := r.frame()
		switch {
		case err != nil:
			return out.String(), err
		case op == 8:
			return out.String(), errors.New(
				"the connection was closed before the command had a status",
			)
		case op > 2 || len(payload) == 0:
		case payload[0] == 1:
			out.Write(payload[1:])
		case payload[0] == 3:
			if !strings.Contains(string(payload), `"Success"`) {
				err = errors.New(string(payload[1:]))
			}
			return out.String(), err
		}
	}
}

// maxFrame bounds a frame of WebSocket.
const maxFrame = 1 << 20

// frame reads one frame of WebSocket.
func (r *Raw) frame() (op byte, payload []byte, err error) {
	var head [2]byte
	if _, err := io.ReadFull(r.In, head[:]); err != nil {
		return 0, nil, err
	}
	n := uint64(head[1] & 0x7f)
	if more := map[uint64]int{126: 2, 127: 8}[n]; more > 0 {
		var size [8]byte
		if _, err := io.ReadFull(r.In, size[8-more:]); err != nil {
			return 0, nil, err
		}
		n = binary.BigEndian.Uint64(size[:])
	}
	if n > maxFrame {
		return 0, nil, fmt.Errorf("a frame of %d bytes", n)
	}
	payload = make([]byte, n)
	_, err = io.ReadFull(r.In, payload)
	return head[0] & 0xf, payload, err
}
