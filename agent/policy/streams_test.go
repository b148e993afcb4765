package policy

import (
	"slices"
	"strings"
	"testing"

	"skerry.dev/skerry/tunnel"
)

// TestStreams: all ways into a Pod are open unless the site closes one, for all spaces or for some,
// or its parent does.
func TestStreams(t *testing.T) {
	no, yes := false, true
	for _, c := range []struct {
		name          string
		site          tunnel.Allow
		narrow        *tunnel.Narrow
		way           string
		reason, words string
		left          []string
	}{
		{"by default", tunnel.Allow{}, nil, Exec, "", "", nil},
		{"closed here", tunnel.Allow{Exec: []string{"false"}}, nil, Exec, ReasonStream,
			"site oslo does not allow this to space shop; its admin can by --allow-exec=shop=true, or by allow: {exec: [shop=true]}",
			[]string{"false"}},
		{"another way", tunnel.Allow{Exec: []string{"false"}}, nil, Logs, "", "", nil},
		{"logs closed here", tunnel.Allow{Logs: []string{"false"}}, nil, Logs, ReasonStream, "--allow-logs=shop",
			[]string{"false"}},
		{"ports closed here", tunnel.Allow{PortForward: []string{"false"}}, nil, PortForward, ReasonStream,
			"--allow-port-forward=shop=true, or by allow: {portForward", []string{"false"}},
		{"view closed here", tunnel.Allow{View: []string{"false"}}, nil, View, ReasonStream, "--allow-view=shop",
			[]string{"false"}},
		{"closed for the space", tunnel.Allow{Exec: []string{"shop=false"}}, nil, Exec, ReasonStream,
			"to space shop", []string{"shop=false"}},
		{"closed for another space", tunnel.Allow{Exec: []string{"bank=false"}}, nil, Exec, "", "", []string{"bank=false"}},
		{"open for the space alone", tunnel.Allow{Exec: []string{"shop=true", "false"}}, nil, Exec, "", "",
			[]string{"false", "shop=true"}},
		{"open for another alone", tunnel.Allow{Exec: []string{"false", "bank=true"}}, nil, Exec, ReasonStream, "shop=true",
			[]string{"false", "bank=true"}},
		{"writes closed here", tunnel.Allow{PodWrites: []string{"false"}}, nil, PodWrites, ReasonStream,
			"--allow-pod-writes=shop",
			[]string{"false"}},
		{"writes closed by the parent", tunnel.Allow{}, &tunnel.Narrow{PodWrites: &no}, PodWrites, ReasonStream,
			"spec.allow.podWrites",
			[]string{"false"}},
		{"services closed here", tunnel.Allow{Services: []string{"shop=false"}}, nil, Services, ReasonStream,
			"--allow-services=shop", []string{"shop=false"}},
		{"services closed by the parent", tunnel.Allow{}, &tunnel.Narrow{Services: &no}, Services, ReasonStream,
			"spec.allow.services", []string{"false"}},
		{"view closed by the parent", tunnel.Allow{}, &tunnel.Narrow{View: &no}, View, ReasonStream,
			"spec.allow.view", []string{"false"}},
		{"closed by the parent", tunnel.Allow{}, &tunnel.Narrow{Exec: &no}, Exec, ReasonStream, "spec.allow.exec",
			[]string{"false"}},
		{"open for the space, closed by the parent", tunnel.Allow{Exec: []string{"false", "shop=true"}},
			&tunnel.Narrow{Exec: &no}, Exec,
			ReasonStream, "spec.allow.exec of SyncTarget oslo is false, for space shop", []string{"false"}},
		{"not opened by the parent", tunnel.Allow{Exec: []string{"false"}}, &tunnel.Narrow{Exec: &yes}, Exec,
			ReasonStream, "allow: {exec",
			[]string{"false"}},
		{"said to be open", tunnel.Allow{Exec: []string{"true", "shop=true"}}, &tunnel.Narrow{Exec: &yes}, Exec, "", "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := compile(t, c.site, c.narrow)
			refused(t, p.Stream(c.way, "shop", "oslo"), c.reason, c.words)
			left := p.Result()
			got := map[string][]string{Logs: left.Logs, Exec: left.Exec, PortForward: left.PortForward,
				View: left.View, PodWrites: left.PodWrites, Services: left.Services}[c.way]
			if !slices.Equal(got, c.left) {
				t.Errorf("the status says %q, want %q", got, c.left)
			}
		})
	}
}

// TestUnreadableStreams: what cannot be meant is refused with its key.
func TestUnreadableStreams(t *testing.T) {
	for _, rules := range [][]string{{"shop"}, {"shop=maybe"}, {"=false"}, {"*=false"}, {""},
		{"true", "false"}, {"shop=false", "shop=true"}} {
		if _, err := Compile(tunnel.Allow{View: rules}, nil); err == nil || !strings.HasPrefix(err.Error(), "view ") {
			t.Errorf("%q: %v", rules, err)
		}
	}
}
