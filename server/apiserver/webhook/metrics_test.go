package webhook

import (
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

// However many targets have webhooks, the metrics name a bounded number.
func TestMetricsNameFewTargets(t *testing.T) {
	m := NewMetrics()
	for range 2 {
		for i := range 2 * maxNamed {
			m.called(fmt.Sprint("site-", i), time.Second)
		}
	}
	if n := testutil.CollectAndCount(m.took); n != maxNamed+1 {
		t.Errorf("%d series, want %d and one for all others", n, maxNamed)
	}
}
