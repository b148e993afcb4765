package metricstest

import (
	"testing"

	"skerry.dev/skerry/tunnel/metrics"
)

func TestLint(t *testing.T) {
	good := metrics.Description{Name: "skerry_a_seconds", Type: metrics.Histogram, Help: "How long it takes."}
	if c := Lint(good); len(c) != 0 {
		t.Errorf("good: %v", c)
	}
	for what, d := range map[string]metrics.Description{
		"prefix":    {Name: "a_total", Type: metrics.Counter, Help: "What it is."},
		"no help":   {Name: "skerry_a_total", Type: metrics.Counter},
		"gauge":     {Name: "skerry_a_total", Type: metrics.Gauge, Help: "What it is."},
		"unit":      {Name: "skerry_a_ms_total", Type: metrics.Counter, Help: "What it is."},
		"histogram": {Name: "skerry_a", Type: metrics.Histogram, Help: "What it is."},
		"time":      {Name: "skerry_a_timestamp", Type: metrics.Gauge, Help: "What it is."},
		"space":     {Name: "skerry_a", Type: metrics.Gauge, Help: "What it is.", Labels: []string{"space"}},
	} {
		if c := Lint(d); len(c) != 1 {
			t.Errorf("%s: %v", what, c)
		}
	}
}

func TestReplace(t *testing.T) {
	page := "a\n<!-- begin x -->\nold\n<!-- end x -->\nb\n"
	got, err := replace(page, "x", "new\n")
	if err != nil || got != "a\n<!-- begin x -->\nnew\n<!-- end x -->\nb\n" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := replace(page, "y", ""); err == nil {
		t.Error("a section that is not there is no error")
	}
}
