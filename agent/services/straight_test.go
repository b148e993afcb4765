package services

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/tunnel/exchange"
	"skerry.dev/skerry/tunnel/upward"
)

// local answers for Pods of the site, and remembers what was asked.
type local struct {
	mu    sync.Mutex
	asked []exchange.Request
	err   error
	deaf  bool
}

func (l *local) answer(ctx context.Context, r *exchange.Request) (*http.Response, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked = append(l.asked, *r)
	exchange.TraceOf(ctx).Add(exchange.Hop{At: ".", Reason: exchange.Answered, Pod: "db-0"})
	if l.deaf {
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	if l.err != nil {
		return nil, l.err
	}
	here, there := net.Pipe()
	go func() {
		_, _ = io.WriteString(there, "by here: ")
		there.Close()
	}()
	return &http.Response{StatusCode: http.StatusSwitchingProtocols, Header: exchange.Bytes(), Body: here}, nil
}

// beside is a site with the Service web of space shop, and the Service db of space desk, which has a ready Pod there
// and which web stands for, as its parent says.
func beside(t *testing.T) (*site, *local) {
	api, l := newAPI(t), &local{}
	api.Put("v1", "Namespace", "", "desk", namespace("desk", "u-desk"))
	db := service(target.ReachSpace, port("http", 80, "TCP"))
	db["metadata"].(m)["name"], db["metadata"].(m)["namespace"] = "db", "desk"
	db["metadata"].(m)["annotations"].(m)[target.AnnotationOriginUID] = "o-db"
	s := &site{api: api, up: newParent(t), here: l.answer, desk: api.Put("v1", "Service", "desk", "db", db),
		uid: api.Put("v1", "Service", "app", "web", service(target.ReachSpace, port("http", 80, "TCP")))}
	s.up.here = []upward.Here{{Space: "desk", Namespace: "app", Service: "db", UID: "o-db"}}
	s.deskPod(true)
	run(t, s, t.TempDir())
	eventually(t, "the Service of desk is known, and its Pod", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.entries[name{"desk", "db"}] != nil && s.readyLocked(name{"desk", "db"})
	})
	return s, l
}

// deskPod has the Pod of desk's Service ready, or not.
func (s *site) deskPod(ready bool) {
	s.api.Put("discovery.k8s.io/v1", "EndpointSlice", "desk", "db-abcde", m{
		"metadata":  m{"labels": m{target.LabelSite: "s-1", serviceName: "db"}},
		"endpoints": []any{m{"addresses": []any{"10.244.0.7"}, "conditions": m{"ready": ready}}}})
}

// answered has a Pod call the Service, and returns the first word of what answers.
func (s *site) answered(t *testing.T) string {
	t.Helper()
	word := make([]byte, 4)
	if _, err := io.ReadFull(s.dial(t, "http"), word); err != nil {
		return ""
	}
	return map[string]string{"port": "the parent", "by h": "here"}[string(word)]
}

// The first caller of what is at this site, too, is led over the parent. Further ones are led there straight, for a
// while. The other space hears of their address alone.
func TestCallersAreLedStraightToWhatIsHere(t *testing.T) {
	s, l := beside(t)
	for i, want := range []string{"the parent", "here", "here"} {
		if got := s.answered(t); got != want {
			t.Fatalf("call %d was answered by %s, not %s", i, got, want)
		}
	}
	r := l.asked[0]
	if from, err := exchange.ReadCaller(r.Caller); err != nil || from.Namespace != "" || from.Address.String() != loopback {
		t.Errorf("desk is told of %+v, %v", from, err)
	}
	if r.Space != "desk" || r.SpaceUID != "u-desk" || r.Namespace != "app" || r.Pod != "db" || r.UID != s.desk {
		t.Errorf("%+v was asked for", r)
	}
	s.expire()
	for i, want := range []string{"the parent", "here"} {
		if got := s.answered(t); got != want {
			t.Errorf("after a while call %d was answered by %s, not %s", i, got, want)
		}
	}
	s.expire()
	s.up.mu.Lock()
	s.up.here = nil
	s.up.mu.Unlock()
	for range 2 {
		if got := s.answered(t); got != "the parent" {
			t.Errorf("it is exported no more, and %s answers", got)
		}
	}
}

// expire has what the parent has said be old.
func (s *site) expire() {
	s.mu.Lock()
	e := s.entries[name0("web")]
	s.mu.Unlock()
	e.here.mu.Lock()
	e.here.until = time.Time{}
	e.here.mu.Unlock()
}

// Where what is here does not answer, the parent is asked. Where the parent does not answer, what it has said holds.
func TestWhatIsHereAnswersWhileItIsReady(t *testing.T) {
	s, l := beside(t)
	s.answered(t)
	l.mu.Lock()
	l.err = &exchange.Fault{Code: http.StatusForbidden, Reason: exchange.Denied, Message: "guard"}
	l.mu.Unlock()
	if got := s.answered(t); got != "the parent" || len(l.asked) == 0 {
		t.Errorf("refused here, it was answered by %s", got)
	}
	l.mu.Lock()
	l.err, l.deaf = nil, true
	l.mu.Unlock()
	if got := s.answered(t); got != "the parent" {
		t.Errorf("what is here said nothing, and it was answered by %q", got)
	}
	l.mu.Lock()
	l.deaf = false
	l.mu.Unlock()
	s.deskPod(false)
	eventually(t, "no Pod is ready here", func() bool { return s.Idle("desk", "db") })
	if got := s.answered(t); got != "the parent" {
		t.Errorf("without a ready Pod it was answered by %s", got)
	}
	s.deskPod(true)
	eventually(t, "one is", func() bool { return !s.Idle("desk", "db") })
	s.expire()
	s.up.mu.Lock()
	s.up.cut = true
	s.up.mu.Unlock()
	if got := s.answered(t); got != "here" {
		t.Errorf("cut off, it was answered by %q", got)
	}
	s.up.mu.Lock()
	s.up.cut, s.up.fault = false, "Forbidden"
	s.up.mu.Unlock()
	if got := s.answered(t); got != "" {
		t.Errorf("the parent refuses it, and it was answered by %s", got)
	}
	s.up.mu.Lock()
	s.up.cut = true
	s.up.mu.Unlock()
	if got := s.answered(t); got != "" {
		t.Errorf("the parent has refused it, and then it was answered by %s", got)
	}
}

// A trace says that the other space answers, and not by which Pod.
func TestATraceOfWhatIsHere(t *testing.T) {
	s, _ := beside(t)
	s.answered(t)
	found, err := s.trace(t)
	if err != nil || found.Reason != exchange.Answered || reasons(found) != ".:Gateway .:Answered" ||
		found.Hops[1].Message != "space desk answers, at this site" || found.Hops[1].Pod != "" {
		t.Errorf("%+v, %v", found, err)
	}
}
