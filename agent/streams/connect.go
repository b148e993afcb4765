package streams

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/tunnel/exchange"
)

// The protocol of a forwarded port, as Kubernetes has it.
const (
	forwarding   = "portforward.k8s.io"
	streamType   = "streamType"
	streamData   = "data"
	streamError  = "error"
	headerPort   = "port"
	headerNumber = "requestID"
)

// maxCause bounds what is read of a reason for which a port was not reached.
const maxCause = 1 << 10

// connect connects to a port of a ready Pod. The cluster's API server forwards the port: so the
// agent needs no way into the network of Pods, and nothing but that very Pod can be at the other
// end. A Pod in the network of its node is none of the space alone: its ports are the node's.
func (s *Site) connect(
	ctx context.Context,
	c *target.Client,
	r *exchange.Request,
	live *target.Object,
) (*http.Response, error) {
	if err := callable(r, live); err != nil {
		return nil, err
	}
	namespace := live.Metadata.Namespace
	resp, err := s.As(c, r.Space, namespace).Talk(ctx, target.Talk{
		Method: http.MethodPost, Namespace: namespace, Pod: r.Pod,
		Subresource: string(exchange.PortForward), Upgrade: exchange.SPDY(forwarding),
	})
	if err != nil {
		return nil, unreachable(err)
	}
	conn, upgraded := resp.Body.(io.ReadWriteCloser)
	if resp.StatusCode != http.StatusSwitchingProtocols || !upgraded {
		resp.Header.Del(exchange.HeaderSite) // which an API server has no word in
		return resp, nil
	}
	body, err := forward(conn, r.Query.Get(exchange.OptionPort))
	if err != nil {
		conn.Close()
		return nil, unreachable(fmt.Errorf("forward a port of pod %s: %w", r.Pod, err))
	}
	context.AfterFunc(ctx, func() { body.Close() })
	return &http.Response{StatusCode: resp.StatusCode, Header: exchange.Bytes(), Body: body}, nil
}

// callable returns a *exchange.Fault for a Pod that is not to be connected to.
func callable(r *exchange.Request, live *target.Object) error {
	var spec struct{ HostNetwork bool }
	var status struct {
		Conditions []struct{ Type, Status string }
	}
	if json.Unmarshal(live.Spec, &spec) != nil || json.Unmarshal(live.Status, &status) != nil {
		return unreachable(fmt.Errorf("pod %s cannot be read", r.Pod))
	}
	if spec.HostNetwork {
		return &exchange.Fault{
			Code: http.StatusForbidden, Reason: "Forbidden",
			Message: fmt.Sprintf("pod %s/%s is in the network of its node (hostNetwork), whose ports"+
				" are not the space's: run the webhook in the pod network", r.Namespace, r.Pod),
		}
	}
	ready := false
	for _, c := range status.Conditions {
		ready = ready || c.Type == "Ready" && c.Status == "True"
	}
	if !ready || live.Metadata.DeletionTimestamp != "" {
		return &exchange.Fault{
			Code: http.StatusConflict, Reason: "Conflict",
			Message: fmt.Sprintf("pod %s/%s is not ready", r.Namespace, r.Pod),
		}
	}
	return nil
}

// forward opens one port of a Pod on a connection that was upgraded to SPDY, which it takes over
// unless it fails.
func forward(over io.ReadWriteCloser, port string) (io.ReadWriteCloser, error) {
	conn, err := spdy.NewClientConnection(netConn{over})
	if err != nil {
		return nil, err
	}
	header := http.Header{}
	header.Set(headerPort, port)
	header.Set(headerNumber, "0")
	header.Set(streamType, streamError)
	failed, err := conn.CreateStream(header)
	if err != nil {
		conn.Close()
		return nil, err
	}
	_ = failed.Close() // nothing is written to it
	header.Set(streamType, streamData)
	bytes, err := conn.CreateStream(header)
	if err != nil {
		conn.Close()
		return nil, err
	}
	go func() {
		// The reason for which the port was not reached, or the end.
		if n, _ := io.Copy(io.Discard, io.LimitReader(failed, maxCause)); n > 0 {
			conn.Close()
		}
	}()
	return forwarded{bytes, conn}, nil
}

// forwarded is a port of a Pod. Close may be called while Read and Write run, and more than once.
type forwarded struct {
	httpstream.Stream
	conn httpstream.Connection
}

// Close implements io.Closer.
func (f forwarded) Close() error { return f.conn.Close() }

// netConn is an upgraded connection to the API server, as the client of SPDY wants it.
type netConn struct{ io.ReadWriteCloser }

var _ net.Conn = netConn{}

// LocalAddr implements net.Conn.
func (netConn) LocalAddr() net.Addr { return noAddr{} }

// RemoteAddr implements net.Conn.
func (netConn) RemoteAddr() net.Addr { return noAddr{} }

// SetDeadline implements net.Conn: the stream's end is the end.
func (netConn) SetDeadline(time.Time) error { return nil }

// SetReadDeadline implements net.Conn.
func (netConn) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline implements net.Conn.
func (netConn) SetWriteDeadline(time.Time) error { return nil }

type noAddr struct{}

// Network implements net.Addr.
func (noAddr) Network() string { return "stream" }

// String implements net.Addr.
func (noAddr) String() string { return "the target" }
