package summary

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"testing"

	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/bolt"
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
	s := New(Config{API: c, Reports: c, Delivery: c, Outages: c, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
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

// BenchmarkMergeOfTargets measures what each of 1,000 targets of a Deployment costs when one of them
// reports: the statuses of all are merged. What they say was so since one of 60 times.
func BenchmarkMergeOfTargets(b *testing.B) {
	const targets = 1000
	reports := make([]*store.Report, targets)
	for i := range reports {
		status := fmt.Appendf(nil, `{"observedGeneration":1,"replicas":3,"updatedReplicas":3,"readyReplicas":%d,`+
			`"availableReplicas":%[1]d,"conditions":[{"type":"Available","status":"True","reason":"MinimumReplicasAvailable",`+
			`"lastTransitionTime":"2026-01-02T03:%02[2]d:00Z"},{"type":"Progressing","status":"True",`+
			`"lastTransitionTime":"2026-01-02T03:%02[2]d:00Z"}]}`, 2+i%2, i%60)
		reports[i] = &store.Report{OriginUID: "u", Generation: 1, Status: status}
	}
	at := placement.Located{Key: web, APIVersion: "apps/v1", Kind: "Deployment", UID: "u"}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := mergeAll(at, reports); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/targets, "ns/target")
}

// inFile are the reports of targets as a center stores them.
type inFile map[string]*bolt.Sink

func (f inFile) Report(target string, k store.Key) (store.Entry, bool, error) {
	return f[target].Get(k)
}

// newInFile has n targets report a Deployment.
func newInFile(b *testing.B, n int) inFile {
	b.Helper()
	file, err := bolt.Open(filepath.Join(b.TempDir(), "reports.db"), bolt.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := file.Close(); err != nil {
			b.Error(err)
		}
	})
	all := inFile{}
	for i, target := range names(n) {
		sink, err := file.Sink(bolt.ReportedBy(target), bolt.SinkOptions{AcceptNewIncarnation: true})
		if err != nil {
			b.Fatal(err)
		}
		body := encode(store.Report{OriginUID: "u", Generation: 1, At: int64(i), Applied: store.Hash{1}.String(),
			Filled: &store.Filled{Revision: 1}, Status: status(`{"observedGeneration":1,"replicas":3,"updatedReplicas":3,`+
				`"readyReplicas":%d,"availableReplicas":%[1]d}`, 2+i%2)})
		at := store.Position{Incarnation: store.NewIncarnation(), Revision: 1}
		if err := sink.Commit(context.Background(), store.Batch{Through: at, Entries: []store.Entry{{Key: web,
			Hash: store.HashReport(1, body), Revision: 1, Generation: 1, Body: body}}}); err != nil {
			b.Fatal(err)
		}
		all[target] = sink
	}
	return all
}

// BenchmarkFlushOfTargets measures what it costs to make the status of a Deployment that is on many
// targets, of which ten have reported: with the reports of all of them read, as at first, and with those
// that are new.
func BenchmarkFlushOfTargets(b *testing.B) {
	for _, targets := range []int{100, 300, 1000} {
		reports := newInFile(b, targets)
		at := placement.Located{Key: web, APIVersion: "apps/v1", Kind: "Deployment", UID: "u", Targets: names(targets)}
		for _, all := range []bool{true, false} {
			s := &Summary{cfg: Config{Reports: reports}}
			b.Run(fmt.Sprintf("targets=%d/all=%t", targets, all), func(b *testing.B) {
				b.ReportAllocs()
				for n := 0; b.Loop(); n++ {
					if all {
						s.last.forget(web)
					}
					for i := range 10 {
						s.last.record(at.Targets[(n*10+i)%targets], web)
					}
					got, err := s.reports(at)
					if err == nil {
						_, err = s.compose(at, got)
					}
					if err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
