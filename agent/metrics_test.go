package agent

import (
	"testing"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/agent/targettest"
	"skerry.dev/skerry/tunnel/metrics"
	"skerry.dev/skerry/tunnel/metrics/metricstest"
)

// The page of metrics says what an agent registers.
func TestMetricsAreDocumented(t *testing.T) { inBubble(t, metricsAreDocumented) }

func metricsAreDocumented(t *testing.T) {
	registry := metrics.New(metrics.Build{})
	a, err := open(Config{DataDir: t.TempDir(), Parents: []string{"https://127.0.0.1:1"}, Name: "paris",
		Target: target.Cluster(targettest.NewInMemory(t).Config()), Metrics: registry, Log: discard()})
	if err != nil {
		t.Fatal(err)
	}
	metricstest.Document(t, "../packaging/docs/reference/metrics.md", "agent", registry.Descriptions())
	if err := a.close(); err != nil {
		t.Error(err)
	}
}
