package policy

import (
	"testing"

	"skerry.dev/skerry/tunnel"
)

// TestStreams: all ways into a Pod are open unless the site closes one, or its parent does.
func TestStreams(t *testing.T) {
	no, yes := false, true
	for _, c := range []struct {
		name          string
		site          tunnel.Allow
		narrow        *tunnel.Narrow
		way           string
		reason, words string
	}{
		{"by default", tunnel.Allow{}, nil, Exec, "", ""},
		{"closed here", tunnel.Allow{Exec: &no}, nil, Exec, ReasonStream, "allow: {exec: true}"},
		{"another way", tunnel.Allow{Exec: &no}, nil, Logs, "", ""},
		{"logs closed here", tunnel.Allow{Logs: &no}, nil, Logs, ReasonStream, "site oslo"},
		{"ports closed here", tunnel.Allow{PortForward: &no}, nil, PortForward, ReasonStream, "portForward: true"},
		{"view closed here", tunnel.Allow{View: &no}, nil, View, ReasonStream, "view: true"},
		{"writes closed here", tunnel.Allow{PodWrites: &no}, nil, PodWrites, ReasonStream, "podWrites: true"},
		{"writes closed by the parent", tunnel.Allow{}, &tunnel.Narrow{PodWrites: &no}, PodWrites, ReasonStream, "spec.allow.podWrites"},
		{"view closed by the parent", tunnel.Allow{}, &tunnel.Narrow{View: &no}, View, ReasonStream, "spec.allow.view"},
		{"closed by the parent", tunnel.Allow{}, &tunnel.Narrow{Exec: &no}, Exec, ReasonStream, "spec.allow.exec"},
		{"not opened by the parent", tunnel.Allow{Exec: &no}, &tunnel.Narrow{Exec: &yes}, Exec, ReasonStream, "allow: {exec"},
		{"said to be open", tunnel.Allow{Exec: &yes}, &tunnel.Narrow{Exec: &yes}, Exec, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := compile(t, c.site, c.narrow)
			refused(t, p.Stream(c.way, "oslo"), c.reason, c.words)
			left := map[string]*bool{Logs: p.Result().Logs, Exec: p.Result().Exec, PortForward: p.Result().PortForward, View: p.Result().View, PodWrites: p.Result().PodWrites}[c.way]
			if off(left) != (c.reason != "") {
				t.Errorf("the status says %v", left)
			}
		})
	}
}
