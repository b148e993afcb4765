package server_test

import (
	"context"
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/server"
	"skerry.dev/skerry/server/backup"
	"skerry.dev/skerry/server/backup/destination"
	"skerry.dev/skerry/server/backup/schedule"
	"skerry.dev/skerry/tunnel/metrics"
	"skerry.dev/skerry/tunnel/metrics/metricstest"
)

const metricsPage = "../packaging/docs/reference/metrics.md"

// The page of metrics says what a center registers, and what of Kubernetes' and Go's it is told of
// is served.
func TestMetricsAreDocumented(t *testing.T) {
	to, err := destination.Open(t.TempDir(), destination.S3{})
	must(t, err)
	every, err := schedule.Parse("@daily")
	must(t, err)
	s, err := server.New(server.Config{DataDir: t.TempDir(), Listen: "127.0.0.1:0", Version: "v1.2.3", Revision: "abc",
		Backup: backup.Plan{To: to, Schedule: every}, Ingress: server.Ingress{Listen: []string{"127.0.0.1:0"}}, Log: slog.New(slog.DiscardHandler)})
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	within(t, time.Minute, "ready", func() bool { return closed(s.Ready()) })
	within(t, time.Minute, "the listener of agents, which comes last", func() bool {
		return slices.ContainsFunc(s.Metrics().Descriptions(), func(d metrics.Description) bool {
			return d.Name == "skerry_link_signs_refused_total"
		})
	})
	metricstest.Document(t, metricsPage, "center", s.Metrics().Descriptions())
	root := clients(t, s.Loopback("root"))
	_, err = root.CoreV1().Namespaces().Get(ctx, "default", metav1.GetOptions{})
	check(t, err)
	served, err := root.RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	check(t, err)
	upstream(t, string(served))
	for _, line := range []string{`skerry_build_info{goversion="go`, `revision="abc",version="v1.2.3"} 1`,
		`skerry_targets{part="center",state="reachable"} 0`, `skerry_moves{part="center",phase="GivenUp"} 0`} {
		if !strings.Contains(string(served), line) {
			t.Errorf("the center does not serve %q", line)
		}
	}
	cancel()
	check(t, <-ended)
}

// upstream holds the table of what is not registered here to what is served.
func upstream(t *testing.T, served string) {
	t.Helper()
	page, err := os.ReadFile(metricsPage)
	must(t, err)
	_, table, _ := strings.Cut(string(page), "<!-- begin upstream -->")
	rows := regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| ([a-z]+) \\| ([a-z_, ]*) \\|").FindAllStringSubmatch(table, -1)
	if len(rows) < 5 {
		t.Fatalf("%d rows: the test does not read %s", len(rows), metricsPage)
	}
	for _, row := range rows {
		if !strings.Contains(served, "# TYPE "+row[1]+" "+row[2]+"\n") {
			t.Errorf("no %s %s is served", row[2], row[1])
		}
		sample := regexp.MustCompile(`(?m)^` + row[1] + `(?:_bucket)?\{.*`).FindString(served)
		for _, label := range strings.FieldsFunc(row[3], func(r rune) bool { return r == ',' || r == ' ' }) {
			if !strings.Contains(sample, label+`="`) {
				t.Errorf("%s has no label %s: %s", row[1], label, sample)
			}
		}
	}
}
