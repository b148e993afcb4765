package placement

import (
	"fmt"
	"strings"
	"time"
)

// Outage is why reports of a target are old. What the target runs goes on, as far as anybody knows.
type Outage struct {
	// Since is when the target's reports were last known to be current, to the second.
	Since time.Time
	// Reason is one of the Outage reasons.
	Reason string
	// Detail is what the target's agent says of its cluster, empty where nobody says anything.
	Detail string
}

// The reasons of outages.
const (
	// OutageSilent: the target's agent is not heard.
	OutageSilent = "SiteSilent"
	// OutageCluster: the agent is heard, but its cluster does not answer it.
	OutageCluster = "ClusterNotReachable"
	// OutageBelow: the relay is heard, but none of the sites below it is.
	OutageBelow = "SitesBelowSilent"
	// OutageNoSites: something is placed on a relay that has no sites.
	OutageNoSites = "RelayWithoutSites"
)

// Sentence says the outage of a target to a person, without the time's age.
func (o Outage) Sentence(target string) string {
	since := o.Since.UTC().Format(time.RFC3339)
	switch o.Reason {
	case OutageCluster:
		text := fmt.Sprintf("the cluster of site %s has not answered its agent since %s", target, since)
		if o.Detail != "" {
			text += " (" + o.Detail + ")"
		}
		return text
	case OutageNoSites:
		return fmt.Sprintf("relay %s has had no site since %s", target, since)
	case OutageBelow:
		return fmt.Sprintf("no site below relay %s has been heard of since %s", target, since)
	}
	return fmt.Sprintf("site %s has not been heard of since %s", target, since)
}

// fromThen ends each message about outages.
const fromThen = "; what is shown is from then"

// namedOutages is how many targets a message names.
const namedOutages = 3

// Outages are the outages among an object's targets.
type Outages struct {
	targets int
	names   []string
	of      []Outage
}

// OutagesOf returns the outages of an object's targets.
func OutagesOf(targets []string, outage func(target string) (Outage, bool)) Outages {
	out := Outages{targets: len(targets)}
	for _, t := range targets {
		if o, ok := outage(t); ok {
			out.names, out.of = append(out.names, t), append(out.of, o)
		}
	}
	return out
}

// None reports whether all targets are current.
func (o Outages) None() bool { return len(o.of) == 0 }

// Since is when the first of the outages began.
func (o Outages) Since() (first time.Time) {
	for _, out := range o.of {
		if first.IsZero() || out.Since.Before(first) {
			first = out.Since
		}
	}
	return first
}

// Youngest is when the last of the outages began.
func (o Outages) Youngest() (last time.Time) {
	for _, out := range o.of {
		if out.Since.After(last) {
			last = out.Since
		}
	}
	return last
}

// Reason is that of a condition: the outage's own where all targets have one of the same reason.
func (o Outages) Reason() string {
	if len(o.of) < o.targets {
		return "SomeSitesNotReachable"
	}
	for _, out := range o.of[1:] {
		if out.Reason != o.of[0].Reason {
			return "SitesNotReachable"
		}
	}
	return o.of[0].Reason
}

// Message says the outages to a person. It names the first targets alone.
func (o Outages) Message() string {
	var lines []string
	for i, name := range o.names[:min(len(o.names), namedOutages)] {
		lines = append(lines, o.of[i].Sentence(name))
	}
	text := strings.Join(lines, "; ")
	if more := len(o.names) - namedOutages; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	if o.targets > 1 {
		text = fmt.Sprintf("%d of %d sites: ", len(o.names), o.targets) + text
	}
	return text + fromThen
}
