// Package requests asks a served application at a steady rate, and counts what is lost while it moves.
//
// A client has several ways to the application, in order of preference: the Service of its own cluster,
// then the address of another site. A request that one way does not answer goes the next way, as a load
// balancer retries. It is lost when no way answers. Each request has a connection of its own, so none
// goes on over one that leads to a Pod which is about to end, and a port of its own.
package requests

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"skerry.dev/skerry/testenv/figure"
)

// Way is one way to the application.
type Way struct {
	// NetNS is the network namespace that the requests come from, "" for the machine's own.
	NetNS string
	URL   string
}

// Config says what is asked.
type Config struct {
	// Name is in the figures: where the client is.
	Name string
	Ways []Way
	// Rate is how many requests are begun in a second, MaxRate at most.
	Rate int
	// Timeout is how long one way may take to answer. Connecting may take no longer than connectTime.
	Timeout time.Duration
	// Host is asked for, at whatever address; empty is that of the URL. Roots are the authorities of TLS; nil is those of
	// the machine.
	Host  string
	Roots *x509.CertPool
	// Keep keeps connections for further requests.
	Keep bool
	// Answered is called after the first answer; nil calls nothing.
	Answered func()
}

// Result is what became of the requests.
type Result struct {
	Config
	Took time.Duration
	// Sent is how many requests were begun; Lost had no answer in any way. Early had none either, and were begun before
	// the first answer came: Pods are ready a moment before their cluster routes to them. Nothing is early where no
	// answer ever came.
	Sent, Lost, Early int
	// By counts the answers of each way. Retried had none of the first way that was tried.
	By      []int
	Retried int
	// Gap is the longest time between an answer and the next.
	Gap time.Duration
	// Latency has how long each answered request took.
	Latency []time.Duration
	// Why has the first errors of lost requests.
	Why []string

	mu          sync.Mutex
	first, last time.Time
}

// connectTime is how long a way may take to connect. Where a Service is not there packets vanish: who
// waits for longer than two sites both have the application tries the second when it has left that.
const connectTime = 2 * time.Second

// maxWhy bounds the errors that a Result keeps.
const maxWhy = 20

// Run asks until ctx ends, and waits then for the answers that are missing.
func Run(ctx context.Context, c Config) *Result {
	r := &Result{Config: c, By: make([]int, len(c.Ways))}
	clients := make([]*http.Client, len(c.Ways))
	for i, way := range c.Ways {
		from := newPorts()
		clients[i] = &http.Client{Timeout: c.Timeout, Transport: &http.Transport{DisableKeepAlives: !c.Keep,
			TLSClientConfig: &tls.Config{ServerName: c.Host, RootCAs: c.Roots}, MaxIdleConnsPerHost: 10,
			DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
				return from.dial(ctx, way.NetNS, network, address)
			}}}
	}
	began := time.Now()
	tick := time.NewTicker(time.Second / time.Duration(c.Rate))
	defer tick.Stop()
	var all sync.WaitGroup
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-tick.C:
			// A ticker drops what comes too late: what it has dropped is made up for.
			for due := int(time.Since(began).Seconds() * float64(c.Rate)); r.Sent < due; r.Sent++ {
				all.Go(func() { r.one(clients) })
			}
		}
	}
	r.Took = time.Since(began)
	all.Wait()
	if r.first.IsZero() {
		r.Lost, r.Early = r.Lost+r.Early, 0
	}
	return r
}

// one makes one request.
func (r *Result) one(clients []*http.Client) {
	began := time.Now()
	var errs []string
	for i, way := range r.Ways {
		err := get(clients[i], way.URL, r.Host)
		if err == nil {
			r.answered(i, began)
			return
		}
		errs = append(errs, fmt.Sprintf("%s after %d ms", err, time.Since(began).Milliseconds()))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.first.IsZero() || began.Before(r.first) {
		r.Early++
	} else {
		r.Lost++
	}
	if len(r.Why) < maxWhy {
		r.Why = append(r.Why, began.UTC().Format("15:04:05.000 ")+strings.Join(errs, "; "))
	}
}

func (r *Result) answered(way int, began time.Time) {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.first.IsZero() {
		r.first = now
		if r.Answered != nil {
			r.Answered()
		}
	} else {
		r.Gap = max(r.Gap, now.Sub(r.last))
	}
	r.last = now
	r.By[way]++
	if way > 0 {
		r.Retried++
	}
	r.Latency = append(r.Latency, now.Sub(began))
}

// get asks for a URL, of a host that is another than the URL's unless it is empty.
func get(c *http.Client, url, host string) error {
	req, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	req.Host = host
	answer, err := c.Do(req)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		return fmt.Errorf("read the answer of %s: %w", url, err)
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, answer.Status)
	}
	return nil
}

// Print prints the figures, and the first errors of lost requests.
func (r *Result) Print(w io.Writer) error {
	note := fmt.Sprintf("%s, %.0f/s for %.0f s; answers by way %v; %d before the first answer", r.Name,
		float64(r.Sent)/r.Took.Seconds(), r.Took.Seconds(), r.By, r.Early)
	lines := []figure.Line{
		{Figure: "requests-lost", Unit: "requests", Value: float64(r.Lost), Goal: figure.Of(0), N: r.Sent, Note: note},
		{Figure: "requests-retried", Unit: "requests", Value: float64(r.Retried), N: r.Sent, Note: r.Name},
		{Figure: "requests-worst-gap", Unit: "ms", Value: float64(r.Gap.Microseconds()) / 1000, N: r.Sent, Note: r.Name},
	}
	if len(r.Latency) > 0 {
		lines = append(lines, figure.Line{Figure: "requests-slowest", Unit: "ms", N: len(r.Latency), Note: r.Name,
			Value: float64(slices.Max(r.Latency).Microseconds()) / 1000,
			Floor: figure.Of(figure.Percentile(r.Latency, 50))})
	}
	for _, line := range lines {
		if err := figure.Print(w, line); err != nil {
			return err
		}
	}
	for _, why := range r.Why {
		if _, err := fmt.Fprintln(w, "lost:", why); err != nil {
			return err
		}
	}
	return nil
}
