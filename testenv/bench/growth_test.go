package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"skerry.dev/skerry/testenv/figure"
)

// What a process holds more than before it was warm is no growth; what it holds more at the end
// than when it was is.
func TestGrowthBeginsWarm(t *testing.T) {
	g := growth{name: "agent", warm: 4}
	for _, live := range []float64{1, 5, 9, 9, 10, 10, 10, 10, 11, 10, 11, 11, 12} {
		g.samples = append(g.samples, sample{memory{rss: 3 * live, anon: 2 * live, live: live}, 100 * live})
	}
	var out bytes.Buffer
	if err := g.print(report{&out}, "in a while"); err != nil {
		t.Fatal(err)
	}
	lines := json.NewDecoder(&out)
	for _, name := range []string{"agent-rss-growth", "agent-anon-growth", "agent-live-heap-growth"} {
		var f figure.Line
		if err := lines.Decode(&f); err != nil || f.Figure != name || f.Value != 10 || f.N != 9 ||
			!strings.Contains(f.Note, "with 1000 -> 1100 Pods") {
			t.Errorf("%s: %+v, %v; want 10 %% of 9 samples", name, f, err)
		}
	}
	short := growth{name: "agent", warm: 1, samples: g.samples[:9]}
	if err := short.print(report{&out}, ""); err == nil {
		t.Error("8 samples were enough")
	}
}

func TestLiveHeapIsRead(t *testing.T) {
	text := "# TYPE go_gc_heap_live_bytes gauge\ngo_gc_heap_live_bytes 2.097152e+06\n" +
		"watch_cache_capacity{group=\"\",resource=\"pods\"} 4096\nwatch_cache_capacity{group=\"apps\",resource=\"deployments\"} 100\n"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/metrics" {
			t.Errorf("asked for %s", r.URL)
		}
		_, _ = w.Write([]byte(text))
	}))
	defer server.Close()
	at := strings.TrimPrefix(server.URL, "http://")
	m, err := withLive(context.Background(), os.Getpid(), at)
	if err != nil || m.live != 2048 || m.events != 4196 || m.rss == 0 || m.anon == 0 {
		t.Errorf("%+v, %v", m, err)
	}
	text = "go_goroutines 5\n"
	if _, err := withLive(context.Background(), os.Getpid(), at); err == nil {
		t.Error("a process that tells nothing of its heap was taken for one that has none")
	}
}
