package policy

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/exchange"
)

// The ways to reach into a site that it allows or not: into a Pod, a view of namespaces, and
// from other sites to Services.
const (
	Logs        = exchange.Logs
	Exec        = exchange.Executing
	PortForward = exchange.Forwarding
	View        = exchange.Viewing
	PodWrites   = exchange.PodWrites
	Services    = exchange.Calling
)

// flags are the agent's flags of the ways, for messages.
var flags = map[string]string{
	Logs: "--allow-logs", Exec: "--allow-exec", PortForward: "--allow-port-forward", View: "--allow-view",
	PodWrites: "--allow-pod-writes", Services: "--allow-services",
}

// way is what is said of one way to reach into the site.
type way struct {
	spaces  map[string]bool // "" is every other one; what is not there is true
	allowed *bool           // by the parent
}

// compileWays reads the switches of the site, and those of its parent.
func (p *Policy) compileWays() error {
	p.ways = map[string]way{}
	for _, w := range []struct {
		name   string
		rules  []string
		parent *bool
	}{
		{Logs, p.site.Logs, p.parent.Logs},
		{Exec, p.site.Exec, p.parent.Exec},
		{PortForward, p.site.PortForward, p.parent.PortForward},
		{View, p.site.View, p.parent.View},
		{PodWrites, p.site.PodWrites, p.parent.PodWrites},
		{Services, p.site.Services, p.parent.Services},
	} {
		spaces := map[string]bool{}
		for _, rule := range w.rules {
			space, text, named := strings.Cut(rule, "=")
			if !named {
				space, text = "", rule
			}
			on, err := strconv.ParseBool(text)
			if err != nil || named && !isSpace(space) {
				return fmt.Errorf("%s %q: write true or false, or SPACE=true or SPACE=false", w.name, rule)
			}
			if before, said := spaces[space]; said && before != on {
				return fmt.Errorf("%s %q: it says the opposite of what is said before it", w.name, rule)
			}
			spaces[space] = on
		}
		p.ways[w.name] = way{spaces, w.parent}
	}
	return nil
}

// isSpace reports whether a text can be the name of a space.
func isSpace(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '.'
	})
}

// below are the resources below Pods that a way uses.
var below = map[string][]string{
	Logs: {"pods/log"}, Exec: {"pods/attach", "pods/exec", "pods/ephemeralcontainers"},
	PortForward: {"pods/portforward"}, PodWrites: {"pods/eviction"},
}

// ClosedResources are the resources below Pods that the site opens to no space. The agent needs no
// rights to them.
func (p *Policy) ClosedResources() (closed []string) {
	for _, name := range slices.Sorted(maps.Keys(below)) {
		if w := p.ways[name]; !w.site("") && !slices.Contains(slices.Collect(maps.Values(w.spaces)), true) {
			closed = append(closed, below[name]...)
		}
	}
	return closed
}

// site reports whether the site allows this to a space.
func (w way) site(space string) bool {
	on, said := w.spaces[space]
	if !said {
		on, said = w.spaces[""]
	}
	return on || !said
}

// result is what remains, as it is written in tunnel.Allow.
func (w way) result() (out []string) {
	if off(w.allowed) {
		return []string{"false"}
	}
	if !w.site("") {
		out = append(out, "false")
	}
	for _, space := range slices.Sorted(maps.Keys(w.spaces)) {
		if on := w.spaces[space]; space != "" && on != w.site("") {
			out = append(out, space+"="+strconv.FormatBool(on))
		}
	}
	return out
}

// Stream refuses a space a way to reach into the site that the site, or its parent, does not allow.
// Site is the site's name, for the message.
func (p *Policy) Stream(name, space, site string) error {
	switch w := p.ways[name]; {
	case !w.site(space):
		return &Refusal{
			Reason: ReasonStream,
			Message: fmt.Sprintf(
				"site %s does not allow this to space %s; its admin can by %s=%s=true, "+
					"or by allow: {%s: [%s=true]} in the agent's configuration",
				site, space, flags[name], space, name, space,
			),
		}
	case off(w.allowed):
		return &Refusal{
			Reason: ReasonStream,
			Message: fmt.Sprintf(
				"spec.allow.%s of SyncTarget %s is false, for space %s and all others; the center's admin can change that",
				name, site, space,
			),
		}
	}
	return nil
}

// streamsLeft sets what remains of the ways.
func (p *Policy) streamsLeft(out *tunnel.Allow) {
	out.Logs, out.Exec = p.ways[Logs].result(), p.ways[Exec].result()
	out.PortForward, out.View = p.ways[PortForward].result(), p.ways[View].result()
	out.PodWrites, out.Services = p.ways[PodWrites].result(), p.ways[Services].result()
}

func off(b *bool) bool { return b != nil && !*b }
