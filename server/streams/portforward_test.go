package streams

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/proxy"
	utilproxy "k8s.io/apiserver/pkg/util/proxy"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	spdydial "k8s.io/client-go/transport/spdy"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"

	"skerry.dev/skerry/tunnel/exchange"
)

// kubelet serves the port of a Pod: each connection asks for a number of bytes, and gets them. Every
// stream that a client opens in vain is counted by who waits for it, as a kubelet does.
type kubelet struct{ t *testing.T }

// ServeHTTP speaks the port-forward protocol over SPDY.
func (k kubelet) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set(httpstream.HeaderProtocolVersion, "portforward.k8s.io")
	var mu sync.Mutex
	waiting := map[string]httpstream.Stream{} // error streams, by request
	conn := spdy.NewResponseUpgrader().UpgradeResponse(w, r, func(s httpstream.Stream, replied <-chan struct{}) error {
		id := s.Headers().Get(corev1.PortForwardRequestIDHeader)
		mu.Lock()
		defer mu.Unlock()
		if s.Headers().Get(corev1.StreamType) == corev1.StreamTypeError {
			waiting[id] = s
			return nil
		}
		failure := waiting[id]
		delete(waiting, id)
		go func() {
			<-replied
			k.app(s)
			s.Close()
			failure.Close()
		}()
		return nil
	})
	if conn == nil {
		return
	}
	defer conn.Close()
	<-conn.CloseChan()
}

// app is what listens in the Pod.
func (kubelet) app(conn io.ReadWriter) {
	var asked [4]byte
	if _, err := io.ReadFull(conn, asked[:]); err == nil {
		_, _ = conn.Write(page(int(binary.BigEndian.Uint32(asked[:]))))
	}
}

// page is what the app answers with.
func page(n int) []byte { return bytes.Repeat([]byte("skerry: "), n/8) }

// failing answers errors of the proxy.
type failing struct{ t *testing.T }

// Error implements proxy.ErrorResponder.
func (f failing) Error(w http.ResponseWriter, _ *http.Request, err error) {
	http.Error(w, err.Error(), http.StatusBadGateway)
}

// cluster is the API server of a site in front of its kubelet.
func cluster(t *testing.T) *httptest.Server {
	node := httptest.NewServer(kubelet{t})
	t.Cleanup(node.Close)
	at, err := url.Parse(node.URL)
	if err != nil {
		t.Fatal(err)
	}
	plain := proxy.NewUpgradeAwareHandler(at, http.DefaultTransport, false, true, failing{t})
	tunnelled := utilproxy.NewTunnelingHandler(plain)
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
			tunnelled.ServeHTTP(w, r)
			return
		}
		plain.ServeHTTP(w, r)
	}))
	t.Cleanup(api.Close)
	return api
}

// asks is a site that asks its API server.
func asks(t *testing.T, api *httptest.Server) exchange.Answer {
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return func(ctx context.Context, r *exchange.Request) (*http.Response, error) {
		method := http.MethodPost
		if exchange.IsWebSocket(r.Upgrade) {
			method = http.MethodGet
		}
		req, err := http.NewRequestWithContext(ctx, method, api.URL+"/?"+r.Query.Encode(), nil)
		if err != nil {
			return nil, err
		}
		req.Header = r.Upgrade.Clone()
		return transport.RoundTrip(req)
	}
}

// forwards is kubectl port-forward through the center: it returns the local address, what kubectl has
// complained of, and what tells that the forward is over.
func forwards(t *testing.T, websocket bool) (address string, said fmt.Stringer, over <-chan error) {
	s := New(Config{SpaceUID: uidOf, Targets: sites{asks(t, cluster(t))}})
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		upgrade, err := exchange.Upgrade(r.Header)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		asked := execOf()
		asked.Verb, asked.Upgrade, asked.Query = exchange.PortForward, upgrade, url.Values{"ports": {"80"}}
		s.Serve(w, r, "oslo", asked, func(string, int) {})
	}))
	t.Cleanup(front.Close)
	config := &rest.Config{Host: front.URL}
	at, err := url.Parse(front.URL)
	if err != nil {
		t.Fatal(err)
	}
	var dialer httpstream.Dialer
	if websocket {
		dialer, err = portforward.NewSPDYOverWebsocketDialerForStreaming(at, config)
	} else {
		transport, upgrader, failed := spdydial.RoundTripperFor(config)
		dialer, err = spdydial.NewDialerForStreaming(upgrader, &http.Client{Transport: transport}, http.MethodPost, at), failed
	}
	if err != nil {
		t.Fatal(err)
	}
	complaints, stop, ready, end := &lockedBuffer{}, make(chan struct{}), make(chan struct{}), make(chan error, 1)
	forward, err := portforward.NewOnAddressesForStreaming(
		dialer, []string{"127.0.0.1"}, []string{"0:80"}, stop, ready, io.Discard, complaints)
	if err != nil {
		t.Fatal(err)
	}
	go func() { end <- forward.ForwardPorts() }()
	t.Cleanup(func() { close(stop) })
	select {
	case <-ready:
	case err := <-end:
		t.Fatalf("the forward does not begin: %v", err)
	case <-time.After(time.Minute):
		t.Fatal("the forward does not begin")
	}
	ports, err := forward.GetPorts()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("127.0.0.1:%d", ports[0].Local), complaints, end
}

type lockedBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// fetch makes one connection through a forward and reads n bytes of it; with less it goes away before.
func fetch(address string, n, less int) error {
	conn, err := net.DialTimeout("tcp", address, time.Minute)
	if err != nil {
		return err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	if _, err := conn.Write(binary.BigEndian.AppendUint32(nil, uint32(n))); err != nil {
		return err
	}
	if less > 0 {
		_, err := io.ReadFull(conn, make([]byte, less))
		return err
	}
	got, err := io.ReadAll(conn)
	if err == nil && !bytes.Equal(got, page(n)) {
		err = fmt.Errorf("%d bytes of %d", len(got), n)
	}
	return err
}

// TestManyConnectionsThroughOneForward: what a browser and a load tool open through one kubectl
// port-forward arrives whole, one after another and side by side. Some that go away end nothing but
// themselves. All of them are one stream of the site's.
func TestManyConnectionsThroughOneForward(t *testing.T) {
	for _, websocket := range []bool{false, true} {
		t.Run(fmt.Sprint("websocket ", websocket), func(t *testing.T) {
			address, said, over := forwards(t, websocket)
			for i := range 100 {
				if err := fetch(address, 8<<10, 0); err != nil {
					t.Fatalf("connection %d: %v", i, err)
				}
			}
			for round := range 2 {
				var all sync.WaitGroup
				for i := range 50 {
					all.Go(func() {
						less := 0
						if round == 1 && i%5 == 0 {
							less = 1 << 10
						}
						if err := fetch(address, 256<<10, less); err != nil {
							t.Errorf("round %d, connection %d: %v", round, i, err)
						}
					})
				}
				all.Wait()
			}
			if err := fetch(address, 1<<20, 0); err != nil {
				t.Errorf("one more: %v", err)
			}
			select {
			case err := <-over:
				t.Errorf("the forward is over: %v", err)
			default:
			}
			if said.String() != "" {
				t.Errorf("kubectl says %q", said)
			}
		})
	}
}
