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

// instant is an API that answers at once and tells that it was asked.
type instant struct {
	API
	patched chan struct{}
}

func (i instant) Patch(context.Context, store.Key, string, string, []byte) (map[string]any, error) {
	i.patched <- struct{}{}
	return map[string]any{"metadata": map[string]any{"resourceVersion": "5"}}, nil
}

// BenchmarkReportToPatch measures what this package adds to a status on its way: from the report in
// the inbox to the call of the API.
func BenchmarkReportToPatch(b *testing.B) {
	const conditions = `[{"type":"Available","status":"True","reason":"MinimumReplicasAvailable"},{"type":"Progressing","status":"True"}]`
	replicas := 0
	api := instant{patched: make(chan struct{}, 1)}
	s := New(Config{API: api, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Report: func(string, store.Key) (store.Entry, bool, error) {
			return store.Entry{Body: fmt.Appendf(nil, `{"uid":"u","gen":1,"status":{"observedGeneration":1,"replicas":%d,"conditions":%s}}`,
				replicas, conditions)}, true, nil
		},
		Located: func(k store.Key) (placement.Located, bool) {
			return placement.Located{Key: k, APIVersion: "apps/v1", Kind: "Deployment", UID: "u", Targets: []string{"a"}}, true
		},
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- s.Run(ctx) }()
	b.ReportAllocs()
	for b.Loop() {
		replicas++
		s.Reported("a", []store.Key{web})
		<-api.patched
	}
	cancel()
	<-done
}
