package fleet

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/tunnel"
)

// remedy is the one thing to do about a kind of problem.
type remedy struct {
	kind, reason string // reason is empty for all others of the kind
	// mark is where what to do begins in the text of the condition, if it says it.
	mark string
	// do is what to do otherwise; %s stands for the name of the site.
	do string
}

// remedies are looked through from the first to the last.
var remedies = []remedy{
	{kind: notJoined,
		do: "look at its agent on the site: systemctl status skerry-agent, journalctl -u skerry-agent"},
	{kind: silent,
		do: "wait a minute; if it stays so, look at the link and the machine of %s"},
	{kind: held,
		do: "see what accepting would do: skerry target accept %s --dry-run"},
	{kind: refuses,
		do: "mend the objects as the site says, in their space; all that is known: skerry status %s"},
	{kind: v1alpha1.ConditionConnected, reason: "Revoked", mark: "To let it back:",
		do: "let it back with another key: skerry target release %s"},
	{kind: v1alpha1.ConditionConnected, mark: "On the site see:",
		do: "on the site see: systemctl status skerry-agent, journalctl -u skerry-agent"},
	{kind: v1alpha1.ConditionSynced,
		do: "see what it waits for: skerry status %s"},
	{kind: v1alpha1.ConditionSubtreeHealthy,
		do: "at the relay %s: skerry status --problems"},
	{kind: v1alpha1.ConditionUnique, mark: "Stop the copy",
		do: "stop one of the two agents of %s"},
	{kind: v1alpha1.ConditionReportsKept, mark: "Look on the site",
		do: "look on the site for what makes so many or so large statuses, and remove it"},
	{kind: v1alpha1.ConditionWithinBudget,
		do: "wait, or raise spec.link.bytesPerDay: kubectl edit synctarget %s"},
	{kind: v1alpha1.ConditionWithinBounds, mark: "It stays where",
		do: "raise spec.bounds, or add a site: kubectl edit synctarget %s"},
	{kind: v1alpha1.ConditionDrained, mark: "To move it all the same:",
		do: "see what stays and why: skerry status %s"},
	{kind: v1alpha1.ConditionCapacityKnown, mark: "To let it read them:",
		do: "give the agent the rights that this prints, on the site: skerry agent rbac"},
	{kind: v1alpha1.ConditionLeaseHeld, mark: "Mend the link",
		do: "it starts again by itself once it has all that is placed on it: skerry status %s"},
	{kind: v1alpha1.ConditionLeaseConfirmed, reason: "SiteRefuses", mark: "start it without",
		do: "start the agent without --allow-scale-to-zero=false, or take spec.lease away: kubectl edit synctarget %s"},
	{kind: v1alpha1.ConditionLeaseConfirmed,
		do: "wait until the agent is connected: skerry status %s"},
	{kind: v1alpha1.ConditionStable, mark: "Look at the link",
		do: "look at the link of %s"},
	{kind: v1alpha1.ConditionClockInSync, mark: "Set the clock:",
		do: "set the clock on the site: timedatectl set-ntp true"},
	{kind: v1alpha1.ConditionCertificateValid,
		do: "look why renewing fails, on the site: journalctl -u skerry-agent"},
	{kind: v1alpha1.ConditionTargetReachable,
		do: "look at the cluster on the site, kubectl get --raw /readyz, and at the agent's rights, " +
			"skerry agent rbac"},
	{kind: v1alpha1.ConditionStoreHealthy, reason: "Refilling",
		do: "wait: the store is filled again by itself"},
	{kind: v1alpha1.ConditionStoreHealthy, mark: "make space",
		do: "make space on the disk of the site, or make it writable; it goes on by itself"},
	{kind: v1alpha1.ConditionCenterTrusted,
		do: "see what accepting would do: skerry target accept %s --dry-run"},
	{kind: v1alpha1.ConditionClusterUnchanged,
		do: "nothing, if the cluster was replaced on purpose; else give the agent its own kubeconfig " +
			"back"},
	{kind: v1alpha1.ConditionVersionAsWished, reason: tunnel.VersionWaits, mark: "The site's owner has it",
		do: "ask the owner of %s"},
	{kind: v1alpha1.ConditionVersionAsWished, mark: "Mend that on the site",
		do: "see why on the site: journalctl -u skerry-agent-upgrade"},
	{kind: v1alpha1.ConditionDetaching,
		do: "wait, or do not wait for the site: skerry target remove %s --force"},
}

// resolve fills in cause and what to do.
func (p *Problem) resolve() {
	do, text := "see: kubectl describe synctarget "+p.Site, p.text
	for _, r := range remedies {
		if r.kind != p.Kind || r.reason != "" && r.reason != p.Reason {
			continue
		}
		do = strings.ReplaceAll(r.do, "%s", p.Site)
		if before, after, found := strings.Cut(text, r.mark); r.mark != "" && found {
			text, do, p.whole = strings.TrimRight(before, " .:;"), lower(r.mark+after), true
		}
		break
	}
	if p.relay { // its agent is a part of its center
		do = strings.ReplaceAll(do, "skerry-agent", "skerry-center")
	}
	p.Do = do
	if p.Cause = p.subject() + " " + p.what; text != "" {
		p.Cause += ": " + text
	}
}

// lower begins a text with a small letter, as it follows a colon.
func lower(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToLower(r)) + s[n:]
}

// CenterNotReady is a problem of the center itself; checks are those of /readyz that fail.
func CenterNotReady(checks string) Problem {
	return Problem{Kind: "CenterNotReady", what: "the center is not ready", text: checks,
		Cause: "the center is not ready: " + checks,
		Do: "its log says why (a full disk is one cause of a store that is not): " +
			"journalctl -u skerry-center"}
}

// UnknownAgents is the problem of agents that dial a center which does not know them.
func (c Clock) UnknownAgents(agents []v1alpha1.UnknownAgent) Problem {
	var names []string
	for _, a := range agents {
		names = append(names, fmt.Sprintf("%s (%s, %s)", a.Name, a.Why, c.lasting(a.Since.Time)))
	}
	knock := "1 agent knocks"
	if len(agents) != 1 {
		knock = fmt.Sprintf("%d agents knock", len(agents))
	}
	return Problem{Kind: "UnknownAgents", what: "agents knock", text: first(names, Worst),
		Cause: fmt.Sprintf("%s that this center does not know: %s", knock, first(names, Worst)),
		Do: "if its data was lost, restore its backup: skerry center restore; else let them join " +
			"again (skerry token create), or stop them"}
}

// SpaceProblems are the conditions of a Space that are False and should not be.
func SpaceProblems(s *v1alpha1.Space) (out []Problem) {
	for i := range s.Status.Conditions {
		c := &s.Status.Conditions[i]
		if c.Status != metav1.ConditionFalse {
			continue
		}
		p := Problem{Space: s.Name, Kind: c.Type, Reason: c.Reason, Since: sinceOf(c),
			text: c.Message}
		switch c.Type {
		case v1alpha1.ConditionReady:
			p.what, p.Do = "is not ready", "see: kubectl describe space "+s.Name
		case v1alpha1.ConditionWithinQuota:
			p.what = "has used up its quota"
			p.Do = "delete objects there, or raise spec.quota: kubectl edit space " + s.Name
		default:
			continue
		}
		p.Cause = p.subject() + " " + p.what + ": " + c.Message
		out = append(out, p)
	}
	return out
}
