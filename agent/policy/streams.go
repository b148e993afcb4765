package policy

import "fmt"

// The ways into a Pod that a site allows or not.
const (
	Logs        = "logs"
	Exec        = "exec"
	PortForward = "portForward"
)

// Stream refuses a way into the Pods of spaces that the site, or its parent, does not allow. Site
// is the site's name, for the message.
func (p *Policy) Stream(way, site string) error {
	ours, theirs := p.site.Logs, p.parent.Logs
	switch way {
	case Exec:
		ours, theirs = p.site.Exec, p.parent.Exec
	case PortForward:
		ours, theirs = p.site.PortForward, p.parent.PortForward
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
