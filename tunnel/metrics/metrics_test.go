package metrics_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"skerry.dev/skerry/store/storetest/leak"
	"skerry.dev/skerry/tunnel/metrics"
)

func TestMain(m *testing.M) { leak.Main(m) }

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// Both halves of a relay register the same collectors in one process.
func TestPartsAreToldApart(t *testing.T) {
	defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	r := metrics.New(metrics.Build{Version: "1.2.3", Revision: "abc"})
	for _, part := range []string{"center", "uplink"} {
		c := prometheus.NewCounter(prometheus.CounterOpts{Name: "skerry_things_total", Help: "Things."})
		c.Add(float64(len(part)))
		r.Part(part).MustRegister(c)
	}
	l, err := metrics.Listen("127.0.0.1:0", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- l.Run(ctx, r.Handler()) }()
	base := "http://" + l.Addr().String()
	code, text := get(t, base+metrics.Path)
	for _, line := range []string{`skerry_things_total{part="center"} 6`,
		`skerry_things_total{part="uplink"} 6`, "go_goroutines "} {
		if code != http.StatusOK || !strings.Contains(text, line) {
			t.Errorf("%d without %q:\n%s", code, line, text)
		}
	}
	if code, _ := get(t, base+"/debug/pprof/"); code != http.StatusNotFound {
		t.Errorf("another path is answered with %d", code)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("Run: %v", err)
	}
	if _, err := metrics.Listen(base, slog.New(slog.DiscardHandler)); err == nil ||
		!strings.Contains(err.Error(), "--metrics-listen") {
		t.Errorf("an address that is none: %v", err)
	}
}
