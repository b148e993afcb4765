package policy

import "fmt"

// The ways to reach into a site that it allows or not: into a Pod, and a view of namespaces.
const (
	Logs        = "logs"
	Exec        = "exec"
	PortForward = "portForward"
	View        = "view"
	PodWrites   = "podWrites"
)

// Stream refuses a way to reach into the site that it, or its parent, does not allow. Site is the
// site's name, for the message.
func (p *Policy) Stream(way, site string) error {
	ours, theirs := p.site.Logs, p.parent.Logs
	switch way {
	case Exec:
		ours, theirs = p.site.Exec, p.parent.Exec
	case PortForward:
		ours, theirs = p.site.PortForward, p.parent.PortForward
	case View:
		ours, theirs = p.site.View, p.parent.View
	case PodWrites:
		ours, theirs = p.site.PodWrites, p.parent.PodWrites
	}
	switch {
	case off(ours):
		return &Refusal{
			ReasonStream,
			fmt.Sprintf(
				"site %s does not allow this; its admin can by allow: {%s: true} in the agent's configuration",
				site,
				way,
			),
		}
	case off(theirs):
		return &Refusal{
			ReasonStream,
			fmt.Sprintf(
				"spec.allow.%s of SyncTarget %s is false; the center's admin can change that",
				way,
				site,
			),
		}
	}
	return nil
}

func off(b *bool) bool { return b != nil && !*b }

// lesser is false where either is, and says nothing where neither is.
func lesser(site, parent *bool) *bool {
	if off(site) || off(parent) {
		no := false
		return &no
	}
	return nil
}
