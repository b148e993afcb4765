package kine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/kubernetes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"skerry.dev/skerry/store/storetest"
)

func TestTwoReplicasOnEtcd(t *testing.T) {
	e := storetest.StartEtcd(t, 3)
	twoReplicas(t, e.Endpoint, func() { e.Stop(); e.Run() })
}

func TestOrderOnEtcd(t *testing.T) {
	e := storetest.StartEtcd(t, 3)
	var stores []*Store
	for range 2 {
		s, err := Open(t.Context(), Config{Endpoint: e.Endpoint, CompactInterval: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		stores = append(stores, s)
	}
	tryOrder(t, stores...)
}

// Members are killed one after the other beneath a store that writes and watches: nothing that was
// acknowledged is lost, and a watch misses nothing.
func TestMembersDie(t *testing.T) {
	e := storetest.StartEtcd(t, 3)
	s, err := Open(t.Context(), Config{Endpoint: e.Endpoint})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	events := s.Client().Watch(ctx, "/registry/t/", clientv3.WithPrefix(), clientv3.WithCreatedNotify())
	<-events
	acknowledged := map[string]bool{}
	failed := 0
	for i := range 300 {
		if i%100 == 50 {
			e.Kill(i / 100)
		}
		if i%100 == 80 {
			e.Run()
		}
		key := fmt.Sprintf("/registry/t/%03d", i)
		one, end := context.WithTimeout(ctx, 5*time.Second)
		resp, err := s.Client().OptimisticPut(one, key, []byte("x"), 0, kubernetes.PutOptions{})
		end()
		if err == nil && resp.Succeeded {
			acknowledged[key] = true
		} else {
			failed++
		}
	}
	t.Logf("%d acknowledged, %d not", len(acknowledged), failed)
	if len(acknowledged) < 250 {
		t.Fatal("a member's death stops the cluster")
	}
	there, err := s.Client().Client.Get(ctx, "/registry/t/", clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil {
		t.Fatal(err)
	}
	missed := map[string]bool{}
	for _, kv := range there.Kvs {
		delete(acknowledged, string(kv.Key))
		missed[string(kv.Key)] = true
	}
	if len(acknowledged) > 0 {
		t.Errorf("acknowledged and lost: %v", acknowledged)
	}
	last := int64(0)
	for len(missed) > 0 {
		resp, ok := <-events
		if !ok || resp.Err() != nil {
			t.Fatalf("the watch ended with %d missed: %v", len(missed), resp.Err())
		}
		for _, ev := range resp.Events {
			if ev.Kv.ModRevision <= last {
				t.Fatalf("%d after %d", ev.Kv.ModRevision, last)
			}
			last = ev.Kv.ModRevision
			delete(missed, string(ev.Kv.Key))
		}
	}
}

// Without a leader a watch ends, so that it may go on elsewhere, and not a thousand times a second.
func TestEtcdWithoutLeader(t *testing.T) {
	e := storetest.StartEtcd(t, 3)
	var log bytes.Buffer
	s, err := Open(t.Context(), Config{Endpoint: e.Endpoint, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	e.Kill(0)
	e.Kill(1)
	ends := 0
	begun := time.Now()
	for time.Since(begun) < 10*time.Second && ends < 20 {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		for resp := range s.Client().Watch(ctx, "/registry/t/", clientv3.WithPrefix()) {
			if resp.Err() != nil {
				ends++
			}
		}
		cancel()
	}
	if ends == 0 || ends >= 20 {
		t.Errorf("a watch ended %d times in %s", ends, time.Since(begun))
	}
	e.Run()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	events := s.Client().Watch(ctx, "/registry/t/", clientv3.WithPrefix())
	for i := 0; ctx.Err() == nil; i++ { // until there is a leader
		one, end := context.WithTimeout(ctx, 2*time.Second)
		_, err := s.Client().OptimisticPut(one, fmt.Sprintf("/registry/t/%d", i), []byte("x"), 0, kubernetes.PutOptions{})
		end()
		if err == nil {
			break
		}
	}
	for {
		resp, open := <-events
		if ctx.Err() != nil {
			t.Fatal("no event comes again")
		}
		if !open {
			events = s.Client().Watch(ctx, "/registry/t/", clientv3.WithPrefix(), clientv3.WithRev(1))
			continue
		}
		if len(resp.Events) > 0 {
			break
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if said := log.String(); strings.Count(said, "etcd has no leader") != 1 || !strings.Contains(said, "a leader again") {
		t.Errorf("said: %s", said)
	}
}

// A cluster at its quota says so in words, and is written again when there is space.
func TestEtcdQuota(t *testing.T) {
	e := storetest.StartEtcd(t, 1, "--quota-backend-bytes", "4194304")
	s, err := Open(t.Context(), Config{Endpoint: e.Endpoint})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	value := make([]byte, 256<<10)
	for i := range 100 {
		_, err = s.Client().OptimisticPut(t.Context(), fmt.Sprintf("/registry/t/%d", i), value, 0,
			kubernetes.PutOptions{})
		if err != nil {
			break
		}
	}
	var trouble *Trouble
	if !errors.As(err, &trouble) || trouble.Kind != Full || !strings.Contains(err.Error(), "alarm disarm") {
		t.Fatalf("at the quota: %v", err)
	}
	if s.Troubles()[Full] == 0 {
		t.Error("the trouble is not counted")
	}
	if _, err := s.Client().Client.Get(t.Context(), "/registry/t/0"); err != nil {
		t.Errorf("at the quota a read fails: %v", err)
	}
}

// A request that is too large is the caller's error, as it is of the other databases.
func TestEtcdTooLarge(t *testing.T) {
	e := storetest.StartEtcd(t, 1)
	s, err := Open(t.Context(), Config{Endpoint: e.Endpoint})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, size := range []int{1700 << 10, 10 << 20} {
		_, err := s.Client().OptimisticPut(t.Context(), "/registry/t/large", make([]byte, size), 0, kubernetes.PutOptions{})
		if status.Code(err) != codes.ResourceExhausted {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}

// A lease of etcd ends, and its keys with it.
func TestEtcdLease(t *testing.T) {
	e := storetest.StartEtcd(t, 1)
	s, err := Open(t.Context(), Config{Endpoint: e.Endpoint})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	lease, err := s.Client().Grant(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	events := s.Client().Watch(t.Context(), "/registry/events/", clientv3.WithPrefix(), clientv3.WithPrevKV())
	if _, err := s.Client().OptimisticPut(t.Context(), "/registry/events/a", []byte("x"), 0,
		kubernetes.PutOptions{LeaseID: lease.ID}); err != nil {
		t.Fatal(err)
	}
	for resp := range events {
		for _, ev := range resp.Events {
			if string(ev.Kv.Key) != "/registry/events/a" || ev.PrevKv != nil && string(ev.PrevKv.Key) != "/registry/events/a" {
				t.Errorf("an event of %s, before %v", ev.Kv.Key, ev.PrevKv)
			}
			if ev.Type == clientv3.EventTypeDelete {
				return
			}
		}
	}
}
