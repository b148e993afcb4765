package kube

import (
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func testServer(t *testing.T, handler http.HandlerFunc) *Client {
	server := httptest.NewTLSServer(handler)
	t.Cleanup(server.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	access := Access{Server: server.URL, CA: ca, Token: "secret"}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := access.WriteKubeconfig(path, "test"); err != nil {
		t.Fatal(err)
	}
	read, err := ReadKubeconfig(path)
	if err != nil {
		t.Fatal(err)
	}
	return NewClient(read)
}

func TestApplyAddressesEachDocument(t *testing.T) {
	var got []string
	c := testServer(t, func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Header.Get("Authorization") != "Bearer secret" || len(body) == 0 {
			t.Errorf("%s: authorization %q, %d bytes", r.URL, r.Header.Get("Authorization"), len(body))
		}
		got = append(got, r.Method+" "+r.URL.Path)
	})
	stream := "apiVersion: v1\nkind: Node\nmetadata: {name: node-1}\n---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d, namespace: ns}\n"
	if err := c.Apply(context.Background(), []byte(stream)); err != nil {
		t.Fatal(err)
	}
	want := []string{"PATCH /api/v1/nodes/node-1", "PATCH /apis/apps/v1/namespaces/ns/deployments/d"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if err := c.Apply(context.Background(), []byte("kind: Unheard\n")); err == nil {
		t.Error("an unknown kind: want an error")
	}
}

func TestHasIgnoresOldHeartbeats(t *testing.T) {
	since := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	body := ""
	c := testServer(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, body) })
	for heartbeat, want := range map[string]bool{
		``: true,
		`,"lastHeartbeatTime":"2026-01-01T12:00:00Z"`: true,
		`,"lastHeartbeatTime":"2026-01-01T11:59:59Z"`: false,
	} {
		body = fmt.Sprintf(`{"status":{"conditions":[{"type":"Ready","status":"True"%s}]}}`, heartbeat)
		if err := c.Has("/x", "Ready", since)(context.Background()); (err == nil) != want {
			t.Errorf("%s: %v", body, err)
		}
	}
}

func TestWaitSaysWhy(t *testing.T) {
	stop := make(chan struct{})
	close(stop)
	err := Wait(context.Background(), stop, func(context.Context) error { return fmt.Errorf("no such thing") })
	if err == nil || !strings.Contains(err.Error(), "ended") || !strings.Contains(err.Error(), "no such thing") {
		t.Errorf("got %v", err)
	}
}
