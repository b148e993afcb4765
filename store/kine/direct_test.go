package kine

import (
	"strings"
	"testing"

	"go.etcd.io/etcd/client/v3/kubernetes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Closing a store ends what waits in it, and what comes later is told so.
func TestCloseEndsCalls(t *testing.T) {
	s := open(t, t.TempDir())
	release := holdWrites(s)
	defer release()
	put := func(key string) error {
		_, err := s.Client().OptimisticPut(t.Context(), key, []byte("x"), 0,
			kubernetes.PutOptions{})
		return err
	}
	waits, closed := make(chan error, 1), make(chan error, 1)
	go func() { waits <- put("/registry/a") }()
	until(t, "one waits", func() bool { return s.file.group.length() == 1 })
	go func() { closed <- s.Close() }()
	if err := <-waits; status.Code(err) != codes.Canceled {
		t.Errorf("a write that waits is told %v", err)
	}
	release()
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if err := put("/registry/b"); status.Code(err) != codes.Canceled {
		t.Errorf("a write to a closed store is told %v", err)
	}
	if _, err := s.Client().Get(t.Context(), "/registry/a",
		kubernetes.GetOptions{}); status.Code(err) != codes.Canceled {
		t.Errorf("a read from a closed store is told %v", err)
	}
}

// What is too large for a client of etcd is refused as it would be by one.
func TestRequestsAreBounded(t *testing.T) {
	s := open(t, t.TempDir())
	defer s.Close()
	create(t, s, "/registry/most", strings.Repeat("x", maxRequest-1<<10))
	if _, err := s.Client().OptimisticPut(t.Context(), "/registry/more", make([]byte, maxRequest),
		0, kubernetes.PutOptions{}); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("a request that is too large is told %v", err)
	}
}
