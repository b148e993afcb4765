package ingress

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	health1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"
	reflection1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"

	"skerry.dev/skerry/store"
)

// gRPC passes to what says kubernetes.io/h2c, as one request, as a stream of answers, and as streams both ways, with
// the status at their end. Of one connection of a caller the application has one. What moves is asked anew.
func TestGRPC(t *testing.T) {
	c := start(t)
	states := health.NewServer()
	pod := func() string {
		s := grpc.NewServer()
		health1.RegisterHealthServer(s, states)
		reflection.Register(s)
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() { _ = s.Serve(l) }()
		t.Cleanup(s.Stop)
		return l.Addr().String()
	}
	runs := func(at string) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.apps["web"] = at
	}
	runs(pod())
	c.grant("shop", "a.test")
	c.put(store.Key{Space: "shop", Resource: "services", Namespace: "app", Name: "web"}, m{"metadata": m{"uid": "uid-web"},
		"spec": m{"ports": []any{m{"name": "http", "port": 80, "appProtocol": "kubernetes.io/h2c"}}}})
	roots := c.secret("shop", "tls", "a.test")
	c.ingress("shop", "web", m{"rules": []any{rule("a.test", "Prefix /", "web")}, "tls": []any{m{"secretName": "tls"}}})
	conn, err := grpc.NewClient("passthrough:///a.test", grpc.WithTransportCredentials(credentials.NewClientTLSFromCert(roots, "a.test")),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", c.at)
		}))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	client := health1.NewHealthClient(conn)
	c.eventually("it is served", func() bool {
		_, err := client.Check(ctx, &health1.HealthCheckRequest{})
		return err == nil
	})
	if _, err := client.Check(ctx, &health1.HealthCheckRequest{Service: "none"}); status.Code(err) != codes.NotFound {
		t.Errorf("the status at the end is %v", err)
	}
	watch, err := client.Watch(ctx, &health1.HealthCheckRequest{Service: "db"})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []health1.HealthCheckResponse_ServingStatus{health1.HealthCheckResponse_SERVICE_UNKNOWN,
		health1.HealthCheckResponse_SERVING, health1.HealthCheckResponse_NOT_SERVING} {
		if want != health1.HealthCheckResponse_SERVICE_UNKNOWN {
			states.SetServingStatus("db", want)
		}
		if got, err := watch.Recv(); err != nil || got.Status != want {
			t.Fatalf("%v comes, %v, want %v", got, err, want)
		}
	}
	both, err := reflection1.NewServerReflectionClient(conn).ServerReflectionInfo(ctx)
	if err != nil {
		t.Fatal(err)
	}
	ask := &reflection1.ServerReflectionRequest{MessageRequest: &reflection1.ServerReflectionRequest_ListServices{}}
	for range 2 {
		if err := both.Send(ask); err != nil {
			t.Fatal(err)
		}
		if got, err := both.Recv(); err != nil || len(got.GetListServicesResponse().GetService()) == 0 {
			t.Fatalf("%v comes, %v", got, err)
		}
	}
	if got := len(c.called()); got != 1 {
		t.Errorf("the application has %d connections of one caller", got)
	}
	runs(pod())
	c.set(nil, true)
	if _, err := client.Check(ctx, &health1.HealthCheckRequest{}); err != nil {
		t.Errorf("while it moves: %v", err)
	}
	c.set(nil, false)
	if _, err := client.Check(ctx, &health1.HealthCheckRequest{}); err != nil {
		t.Errorf("after it has moved: %v", err)
	}
	if got := len(c.called()); got != 3 {
		t.Errorf("%d connections, want one before, one for the request while it moves, and one after, beside streams that go on", got)
	}
	if err := both.Send(ask); err != nil {
		t.Errorf("a stream that began before: %v", err)
	}
	if _, err := both.Recv(); err != nil {
		t.Errorf("a stream that began before: %v", err)
	}
}

// What asks for a protocol that is not spoken to applications is told so, and how it is served.
func TestAppProtocolsThatAreNotSpoken(t *testing.T) {
	c := start(t)
	c.grant("shop", "a.test")
	for name, spoken := range map[string]bool{"https": false, "kubernetes.io/wss": false, "http": true, "kubernetes.io/ws": true} {
		c.put(store.Key{Space: "shop", Resource: "services", Namespace: "app", Name: "web"}, m{"metadata": m{"uid": "uid-web"},
			"spec": m{"ports": []any{m{"name": "http", "port": 80, "appProtocol": name}}}})
		c.ingress("shop", "web", m{"rules": []any{rule("a.test", "Prefix /", "web")}})
		c.eventually("it is told of "+name, func() bool {
			return spoken || strings.Contains(c.told(), `"`+name+`", and is asked by HTTP/1.1`)
		})
	}
	c.service("shop", "web")
	c.eventually("it is served", func() bool { code, _ := c.get("http://a.test/"); return code == 503 })
	if text := c.told(); strings.Contains(text, `"http"`) || strings.Contains(text, `/ws"`) {
		t.Error(text)
	}
}
