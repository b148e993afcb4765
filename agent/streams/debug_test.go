package streams

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"skerry.dev/skerry/tunnel/exchange"
)

// TestDebugIsRefusedByTheSite: the cluster is not asked for containers that the site does not allow.
func TestDebugIsRefusedByTheSite(t *testing.T) {
	s := newSite(t)
	h := s.handler(t, nil)
	h.Backend.(*Site).MayDebug = func(space string, _, containers []byte) error {
		return fmt.Errorf("space %s may not have %s", space, containers)
	}
	s.answer = func(http.ResponseWriter, *http.Request) { t.Error("the cluster was asked") }
	r := &exchange.Request{Space: "shop", SpaceUID: "s-shop", Namespace: "web", Pod: "app-1", UID: "u-1",
		Verb: exchange.Debug, Body: []byte(`[{"name":"d"}]`)}
	resp, body, err := ask(t, h, r)
	if err != nil || resp.StatusCode != 403 || !strings.Contains(body, "space shop may not") {
		t.Errorf("%v, %v: %s", resp, err, body)
	}
}
