package summary

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"testing"

	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// instant is a center in which one Deployment is on one target, whose every report is another one.
// Its API answers at once and tells that it was asked.
type instant struct {
	API
	Delivery
	replicas int
	patched  chan struct{}
}

func (i *instant) Patch(context.Context, store.Key, string, string, []byte) (map[string]any, error) {
	i.patched <- struct{}{}
	return map[string]any{"metadata": map[string]any{"resourceVersion": "5"}}, nil
}

func (i *instant) Report(string, store.Key) (store.Entry, bool, error) {
	const conditions = `[{"type":"Available","status":"True","reason":"MinimumReplicasAvailable"},{"type":"Progressing","status":"True"}]`
	return store.Entry{
		Body: fmt.Appendf(nil, `{"uid":"u","gen":1,"status":{"observedGeneration":1,"replicas":%d,"conditions":%s}}`,
			i.replicas, conditions),
	}, true, nil
}

func (i *instant) Located(k store.Key) (placement.Located, bool) {
	return placement.Located{Key: k, APIVersion: "apps/v1", Kind: "Deployment", UID: "u", Targets: []string{"a"}}, true
}

func (i *instant) Outage(string) (placement.Outage, bool) { return placement.Outage{}, false }

// BenchmarkReportToPatch measures what this package adds to a status on its way: from the report in
// the inbox to the call of the API.
func BenchmarkReportToPatch(b *testing.B) {
	c := &instant{patched: make(chan struct{}, 1)}
	s := New(Config{API: c, Reports: c, Delivery: c, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	s.Bind(c)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- s.Run(ctx) }()
	b.ReportAllocs()
	for b.Loop() {
		c.replicas++
		s.Reported("a", []store.Key{web})
		<-c.patched
	}
	cancel()
	<-done
}
