package requests

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// A request goes the next way when one does not answer, and is lost when none does.
func TestRequestsAreLostWhenNoWayAnswers(t *testing.T) {
	var down [2]atomic.Bool
	var ways []Way
	for i := range down {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if down[i].Load() {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		}))
		defer s.Close()
		ways = append(ways, Way{URL: s.URL})
	}
	ask := func() *Result {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var first atomic.Bool
		done := make(chan *Result)
		go func() {
			done <- Run(ctx, Config{Name: "test", Ways: ways, Rate: 200, Timeout: 10 * time.Second,
				Answered: func() { first.Store(true) }})
		}()
		time.Sleep(100 * time.Millisecond) // whatever is sent in this time counts
		cancel()
		r := <-done
		if first.Load() != (r.By[0]+r.By[1] > 0) {
			t.Errorf("an answer was told: %v, of %v", first.Load(), r.By)
		}
		if r.Sent != r.Lost+r.By[0]+r.By[1] || len(r.Latency) != r.By[0]+r.By[1] {
			t.Errorf("%d sent, %d lost, answers %v, %d times", r.Sent, r.Lost, r.By, len(r.Latency))
		}
		return r
	}
	if r := ask(); r.Lost != 0 || r.Retried != 0 || r.By[1] != 0 {
		t.Errorf("with both: %d lost, %d retried, %v", r.Lost, r.Retried, r.By)
	}
	down[0].Store(true)
	if r := ask(); r.Lost != 0 || r.Retried != r.By[1] || r.By[0] != 0 {
		t.Errorf("with the second: %d lost, %d retried, %v", r.Lost, r.Retried, r.By)
	}
	down[1].Store(true)
	r := ask()
	if r.Lost != r.Sent {
		t.Errorf("with none: %d lost of %d", r.Lost, r.Sent)
	}
	var out bytes.Buffer
	if err := r.Print(&out); err != nil {
		t.Fatal(err)
	}
	if r.Sent > 0 && (strings.Contains(out.String(), `"figure":"requests-lost","value":0`) ||
		!strings.Contains(out.String(), "503")) {
		t.Errorf("printed %s", &out)
	}
}

// What is asked before an application has answered at all is not lost. What is asked after that is.
func TestTheFirstAnswerIsAwaited(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var asked atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n := asked.Add(1)
		if n <= 5 || n > 15 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		if n == 40 {
			cancel()
		}
	}))
	defer s.Close()
	r := Run(ctx, Config{Name: "test", Ways: []Way{{URL: s.URL}}, Rate: 200, Timeout: 10 * time.Second})
	if r.Early < 5 || r.By[0] != 10 || r.Lost == 0 || r.Early+r.By[0]+r.Lost != r.Sent {
		t.Errorf("%d sent, %d early, %d answered, %d lost", r.Sent, r.Early, r.By[0], r.Lost)
	}
}
