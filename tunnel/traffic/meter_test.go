package traffic_test

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/traffic"
)

// fakeLink has sent and received what a test says.
type fakeLink struct{ sent, received uint64 }

func (l *fakeLink) Crossed() (sent, received uint64) { return l.sent, l.received }

// All purposes together are what the links have counted, also when a session has ended.
func TestTransportIsTheRest(t *testing.T) {
	m := traffic.New()
	a, b := &fakeLink{1000, 300}, &fakeLink{500, 0}
	m.Open(a)
	m.Open(b)
	m.Add(traffic.Sent, traffic.Desired, 1, 700)
	m.Add(traffic.Sent, traffic.Control, 2, 100)
	m.Add(traffic.Received, traffic.Errors, 1, 10)
	for _, when := range []string{"open", "ended", "ended twice"} {
		if sent, received := m.Bytes(traffic.Sent, traffic.Transport), m.Bytes(traffic.Received,
			traffic.Transport); sent != 700 ||
			received != 290 {
			t.Errorf("%s: %d bytes sent and %d received by the transport, want 700 and 290", when, sent, received)
		}
		m.Ended(a, "silent")
	}
	m.Add(traffic.Sent, traffic.Desired, 1, 600) // written, not sent yet
	if n := m.Bytes(traffic.Sent, traffic.Transport); n != 700 {
		t.Errorf("the transport's counter went back to %d", n)
	}
	if total := m.Total(traffic.Sent); total != 1500 {
		t.Errorf("%d bytes sent, want 1500", total)
	}
}

// What a link's meter counts, the whole counts too, and the transport's share of all links.
func TestPart(t *testing.T) {
	whole := traffic.New()
	a, b := whole.Part(), whole.Part()
	l := &fakeLink{1000, 300}
	a.Open(l)
	a.Add(traffic.Sent, traffic.Desired, 1, 700)
	a.Add(traffic.Received, traffic.Status, 1, 40)
	b.Add(traffic.Received, traffic.Status, 1, 2)
	a.Batch(traffic.Sent)
	a.Acknowledged(time.Millisecond)
	a.Ended(l, "silent")
	if d, s, other := a.Counted(traffic.Desired), a.Counted(traffic.Status), b.Counted(traffic.Status); d != 700 ||
		s != 40 ||
		other != 2 {
		t.Errorf("counted %d, %d and %d", d, s, other)
	}
	if d, s, rest := whole.Bytes(traffic.Sent, traffic.Desired), whole.Bytes(traffic.Received,
		traffic.Status), whole.Bytes(traffic.Sent, traffic.Transport); d != 700 ||
		s != 42 ||
		rest != 300 {
		t.Errorf("the whole counted %d, %d and %d", d, s, rest)
	}
}

func TestMeterTellsPrometheus(t *testing.T) {
	m := traffic.New()
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(m)
	l := &fakeLink{10, 20}
	m.Open(l)
	m.Batch(traffic.Received)
	m.Add(traffic.Received, traffic.Associated, 1, 5)
	m.Acknowledged(30 * time.Millisecond)
	m.DialFailed()
	m.Ended(&fakeLink{}, "broken") // never opened
	all, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, f := range all {
		text.WriteString(f.String() + "\n")
	}
	for _, want := range []string{`"skerry_link_sessions"`, `value:"associated"`, `value:"transport"`,
		`"skerry_link_acknowledge_seconds"`, `"skerry_link_dials_failed_total"`} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %s in\n%s", want, text.String())
		}
	}
	if strings.Contains(text.String(), "broken") {
		t.Error("the end of a session that never was is counted")
	}
	var none *traffic.Meter
	none.Add(traffic.Sent, traffic.Control, 1, 1)
	none.Open(l)
	none.Ended(l, "")
	if none.Total(traffic.Sent) != 0 || none.Bytes(traffic.Sent, traffic.Transport) != 0 {
		t.Error("no meter has counted something")
	}
}

func TestPurposeOfReports(t *testing.T) {
	for p, want := range map[store.Priority]traffic.Purpose{
		store.PriorityError: traffic.Errors, store.PriorityCondition: traffic.Status, store.PriorityState: traffic.Status,
		store.PriorityAssociated: traffic.Associated, store.PriorityEvent: traffic.Events,
	} {
		if got := traffic.OfReport(store.Entry{Priority: p}); got != want {
			t.Errorf("priority %d counts as %s, want %s", p, got, want)
		}
	}
}
