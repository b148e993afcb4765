package streams

import (
	"context"
	"net/http"
	"testing"

	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/exchange"
)

// asked counts the streams that are opened to targets that have no session.
type asked int

func (a *asked) OpenStream(ctx context.Context, target string) (tunnel.Stream, error) {
	*a++
	return sites{}.OpenStream(ctx, target)
}

// TestClosed: what spec.allow of a target's SyncTarget closes is refused here, before the target is asked, and nothing
// else is.
func TestClosed(t *testing.T) {
	var opened asked
	closed := ""
	s := New(Config{SpaceUID: uidOf, Targets: &opened,
		Closes: func(target, way string) bool { return target == "eu" && way == closed }})
	for _, c := range []struct {
		verb     exchange.Verb
		resource string
		way      string
	}{
		{exchange.Log, "", "logs"},
		{exchange.Exec, "", "exec"},
		{exchange.Attach, "", "exec"},
		{exchange.Debug, "", "exec"},
		{exchange.PortForward, "", "portForward"},
		{exchange.Connect, "", "portForward"},
		{exchange.Connect, exchange.Services, "services"},
		{exchange.Evict, "", "podWrites"},
		{exchange.Delete, "", "podWrites"},
		{exchange.Change, "", "podWrites"},
		{exchange.View, "", "view"},
	} {
		r := execOf()
		r.Verb, r.Resource = c.verb, c.resource
		for _, closed = range exchange.Ways {
			opened = 0
			_, err := s.Do(t.Context(), "eu", r)
			fault := exchange.FaultOf(err)
			if closed != c.way {
				if fault.Code == http.StatusForbidden {
					t.Errorf("%s %s is refused while %s is closed: %v", c.verb, c.resource, closed, err)
				}
				continue
			}
			want := "spec.allow." + c.way + " of SyncTarget eu is false, for space shop and all others; the center's " +
				"admin can change that"
			if opened > 0 || fault.Code != http.StatusForbidden || fault.Message != want {
				t.Errorf("%s %s while %s is closed: %v", c.verb, c.resource, closed, err)
			}
		}
	}
}
