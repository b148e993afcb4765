package quic_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"skerry.dev/skerry/store"
)

// gaugeReport is the status of a placed object, of which a number changes.
func gaugeReport(i, value int) (store.Key, []byte) {
	k := store.Key{Space: "shop", Group: "apps", Resource: "deployments", Namespace: "shop", Name: fmt.Sprint("gauge-", i)}
	b, err := json.Marshal(store.Report{OriginUID: fmt.Sprintf("9b2f7a40-1111-4222-a333-1234567%05d", i),
		Status: fmt.Appendf(nil, `{"value":"v%d"}`, value), At: 1764000000000 + int64(value*20)})
	if err != nil {
		panic(err)
	}
	return k, b
}

// latencies are from when reports are set to when they are at the parent.
type latencies struct {
	mu   sync.Mutex
	at   map[store.Key]time.Time
	took []time.Duration
}

func (l *latencies) set(k store.Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.at == nil {
		l.at = map[store.Key]time.Time{}
	}
	if _, waits := l.at[k]; !waits {
		l.at[k] = time.Now()
	}
}

func (l *latencies) arrived(b store.Batch) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range b.Entries {
		if at, waits := l.at[e.Key]; waits {
			l.took = append(l.took, time.Since(at))
			delete(l.at, e.Key)
		}
	}
}

// within checks how long half and nine tenths of the reports took, and begins anew.
func (l *latencies) within(t *testing.T, half, most time.Duration) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	slices.Sort(l.took)
	p50, p90 := l.took[len(l.took)/2], l.took[len(l.took)*9/10]
	t.Logf("half within %s, nine tenths within %s", p50, p90)
	if p50 > half || p90 > most {
		t.Errorf("half took %s, nine tenths %s; goals %s and %s", p50, p90, half, most)
	}
	l.took = nil
}
