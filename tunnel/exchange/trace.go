package exchange

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"skerry.dev/skerry/store/clip"
)

// A connection to a Service may be traced: it is made as every other one, and each place on its way says what it
// decided. A context carries the Trace. A header of the request asks the next place for its Hops, and the same header
// of the answer has them, of a refusal, too.

// HeaderTrace asks for the Hops of a connection to a Service, and has them in the answer.
const HeaderTrace = "Skerry-Trace"

// traceAsk is the value of HeaderTrace in a request.
const traceAsk = "ask"

// The reasons of Hops, beside those of Faults: Moving and Denied.
const (
	// Local: callers at the site get a Pod of that site.
	Local = "Local"
	// Gateway: callers at the site come to its agent, which asks its parent.
	Gateway = "Gateway"
	// NoEndpoint: callers at the site come to nobody. NoPort: the Service has no such port.
	NoEndpoint = "NoEndpoint"
	NoPort     = "NoPort"
	// Asks: the place asks others.
	Asks = "Asks"
	// Answered: a Pod has accepted the connection.
	Answered = "Answered"
	// NoName: the place has no such Service, and not its name.
	NoName = "NoName"
	// NoReadyPod: no Pod of the Service is ready there.
	NoReadyPod = "NoReadyPod"
	// Closed: somebody has closed the place to callers of Services.
	Closed = "Closed"
	// Unreachable: the link to the place, or its cluster, does not answer.
	Unreachable = "Unreachable"
	// Late: it says nothing in time.
	Late = "Late"
	// Limited: as many connections are open as may be.
	Limited = "Limited"
	// Refused: anything else.
	Refused = "Refused"
)

// Hop is what one place decided about a connection to a Service.
type Hop struct {
	// At is the place, as a path that begins where the Hop is read: ".", ".." for its parent, "oslo" for a target of it,
	// "../oslo" for one beside it.
	At string `json:"at"`
	// Reason is one word, Message says why.
	Reason  string `json:"reason"`
	Message string `json:"message,omitempty"`
	// Pod is the one that has accepted the connection.
	Pod string `json:"pod,omitempty"`
	// Micros is how long it took until the place knew, with all that lies behind it, in microseconds.
	Micros int64 `json:"micros,omitempty"`
}

// Bounds of what is passed on of a Trace.
const (
	mostHops   = 64
	mostSaid   = 512 // bytes of a Message
	mostTraced = 48 << 10
)

// Trace has the Hops of a connection. Its methods may be called concurrently; those of a nil one do nothing.
type Trace struct {
	mu   sync.Mutex
	hops []Hop
}

type traceKey struct{}

// Tracing returns a context by which connections to Services are traced.
func Tracing(ctx context.Context) (context.Context, *Trace) {
	t := &Trace{}
	return context.WithValue(ctx, traceKey{}, t), t
}

// TraceOf is the Trace of a context, nil where nobody wants one.
func TraceOf(ctx context.Context) *Trace {
	t, _ := ctx.Value(traceKey{}).(*Trace)
	return t
}

// Untraced returns a context by which nothing is traced.
func Untraced(ctx context.Context) context.Context {
	return context.WithValue(ctx, traceKey{}, (*Trace)(nil))
}

// TraceAsked returns the context of a request with these headers, which is traced if they ask for that.
func TraceAsked(ctx context.Context, h http.Header) (context.Context, *Trace) {
	if h.Get(HeaderTrace) == "" {
		return ctx, nil
	}
	return Tracing(ctx)
}

// Ask has a request with these headers be traced.
func (t *Trace) Ask(h http.Header) {
	if t != nil {
		h.Set(HeaderTrace, traceAsk)
	}
}

// Add adds what a place decided.
func (t *Trace) Add(hops ...Hop) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.hops = append(t.hops, hops...)
}

// silent reports whether it was asked for and has no Hop yet.
func (t *Trace) silent() bool { return t != nil && len(t.Hops()) == 0 }

// Hops are those that were added.
func (t *Trace) Hops() []Hop {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.hops)
}

// Take takes over the Hops of an answer from another place: "..", or the name of a target.
func (t *Trace) Take(from string, h http.Header) {
	text := h.Get(HeaderTrace)
	if h.Del(HeaderTrace); t == nil || text == "" || len(text) > mostTraced {
		return
	}
	written, err := base64.RawStdEncoding.DecodeString(text)
	var hops []Hop
	if err != nil || json.Unmarshal(written, &hops) != nil {
		return // a trace is no reason to refuse a connection
	}
	t.Add(Seen(from, hops)...)
}

// Tell writes the Hops into the headers of an answer: as many as there is room for.
func (t *Trace) Tell(h http.Header) {
	hops := boundedHops(t.Hops())
	for ; len(hops) > 0; hops = hops[:len(hops)-1] {
		written, err := json.Marshal(hops)
		if err != nil {
			return
		}
		if text := base64.RawStdEncoding.EncodeToString(written); len(text) <= mostTraced {
			h.Set(HeaderTrace, text)
			return
		}
	}
}

// Seen are Hops as another place says them, for who asked it. A target has no word about what is above it or beside it.
func Seen(from string, hops []Hop) (out []Hop) {
	for _, hop := range boundedHops(hops) {
		at := path.Clean("/" + hop.At)[1:]
		if from == ".." {
			at = path.Clean(hop.At)
		}
		if hop.At = path.Join(from, at); isPlace(hop.At) {
			out = append(out, hop)
		}
	}
	return out
}

// boundedHops are Hops with messages of bounded length, mostHops at most.
func boundedHops(hops []Hop) []Hop {
	out := slices.Clone(hops[:min(len(hops), mostHops)])
	for i := range out {
		hop := &out[i]
		hop.Message, hop.Reason = clip.Dotted(hop.Message, mostSaid), clip.Text(hop.Reason, 64)
		if hop.Pod != "" && !isName(hop.Pod) {
			hop.Pod = ""
		}
	}
	return out
}

// isPlace reports whether a clean path leads up, and then down by names of targets.
func isPlace(at string) bool {
	for at != ".." && strings.HasPrefix(at, "../") {
		at = at[3:]
	}
	if at == "." || at == ".." {
		return true
	}
	for part := range strings.SplitSeq(at, "/") {
		if !isName(part) {
			return false
		}
	}
	return true
}

// HopOf is what an error says of a place that decided within a time.
func HopOf(at string, err error, took time.Duration) Hop {
	if err == nil {
		return Hop{At: at, Reason: Answered, Micros: took.Microseconds()}
	}
	f := FaultOf(err)
	hop := Hop{At: at, Reason: Refused, Message: f.Message, Micros: took.Microseconds()}
	switch {
	case f.Reason == Moving, f.Reason == Denied:
		hop.Reason = f.Reason
	case errors.Is(err, context.DeadlineExceeded), f.Code == http.StatusGatewayTimeout:
		hop.Reason = Late
	case f.Code == http.StatusTooManyRequests:
		hop.Reason = Limited
	case f.Code == http.StatusForbidden:
		hop.Reason = Closed
	case f.Code == http.StatusNotFound:
		hop.Reason = NoName
	case f.Code == http.StatusServiceUnavailable, f.Code == http.StatusBadGateway:
		hop.Reason = Unreachable
	}
	return hop
}

// Traced is the answer to the verb Trace: what became of a call for a Service that began at the site which says so.
type Traced struct {
	// Reason is Answered, or why nothing answered; Message says that to people.
	Reason  string `json:"reason"`
	Message string `json:"message,omitempty"`
	// Port is the Service's that was called.
	Port uint16 `json:"port,omitempty"`
	// As is the Pod in whose name it was called, as NAMESPACE/NAME; empty where there was none.
	As string `json:"as,omitempty"`
	// Micros is how long it took, in microseconds.
	Micros int64 `json:"micros,omitempty"`
	Hops   []Hop `json:"hops,omitempty"`
}

// Response is the answer with it.
func (t *Traced) Response() *http.Response {
	t.Hops = boundedHops(t.Hops)
	text, _ := json.Marshal(t) // strings and numbers cannot fail
	return answerOf(http.StatusOK, text)
}

// ReadTraced reads the answer of a target, whose body it closes, as this place sees it.
func ReadTraced(target string, resp *http.Response) (*Traced, error) {
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, Refusal(resp)
	}
	var t Traced
	if err := json.NewDecoder(&head{resp.Body, maxRefusal}).Decode(&t); err != nil {
		return nil, fmt.Errorf("%w: a trace: %w", ErrAnswer, err)
	}
	t.Message, t.Reason = clip.Dotted(t.Message, 4*mostSaid), clip.Text(t.Reason, 64)
	if namespace, pod, _ := strings.Cut(t.As, "/"); t.As != "" && (!isName(namespace) || !isName(pod)) {
		t.As = ""
	}
	hops := boundedHops(t.Hops)
	t.Hops = nil
	for _, hop := range hops { // the site's own way may lead over whom it asked, and so over us
		if hop.At = path.Join(target, path.Clean(hop.At)); isPlace(hop.At) {
			t.Hops = append(t.Hops, hop)
		}
	}
	return &t, nil
}
