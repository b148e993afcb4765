package policy

import (
	"fmt"
	"path"
	"slices"
	"strings"

	psa "k8s.io/pod-security-admission/api"

	"skerry.dev/skerry/tunnel"
)

// Refusal is what the site does not allow. Its reason and message are for the object's report.
type Refusal struct {
	// Reason in CamelCase, one of the Reason constants.
	Reason string
	// Message says what is refused, and what switch allows it.
	Message string
	// Passing: what the object lacks may be on its way, or the site is about to know it. It is not said
	// before that had time to come.
	Passing bool
}

// Error is the message.
func (r *Refusal) Error() string { return r.Message }

// The reasons of refusals.
const (
	ReasonKind           = "KindNotAllowed"
	ReasonDefinition     = "DefinitionNotAllowed"
	ReasonNamespace      = "NamespaceNotAllowed"
	ReasonTaken          = "NamespaceTaken"
	ReasonPodSecurity    = "PodSecurityNotAllowed"
	ReasonServiceAccount = "ServiceAccountNotAllowed"
	ReasonField          = "FieldNotAllowed"
	ReasonTakeOver       = "TakeOverNotAllowed"
	ReasonStream         = "StreamNotAllowed"
	ReasonAccounts       = "AccountsTaken"
	ReasonGateway        = "NoGateway"
	ReasonRights         = "RightsNotAllowed"
	ReasonWebhooks       = "WebhooksNotMirrored"
	ReasonUpsync         = "UpsyncNotAllowed"
	ReasonHost           = "HostTaken"
)

// refuse makes a refusal that ends with the switch which allows it.
func refuse(reason, key, value, format string, args ...any) *Refusal {
	message := fmt.Sprintf(format, args...)
	if key != "" {
		message += fmt.Sprintf(
			"; the site's admin can allow it by %s: %s in the agent's configuration (allow)",
			key,
			value,
		)
		if slices.Contains(trustedKeys, key) {
			message += ", or with much else by policy: " + string(Trusted)
		}
	}
	return &Refusal{Reason: reason, Message: message}
}

// passing says of a refusal that it may pass by itself.
func (r *Refusal) passing() *Refusal {
	r.Passing = true
	return r
}

// Policy decides for one site. It is immutable.
type Policy struct {
	site   tunnel.Allow
	parent tunnel.Narrow
	levels map[string]psa.Level // by space; "" is every other one
	ways   map[string]way       // by name
}

// Compile makes a policy. Narrow may be nil. It returns an error that names a rule which cannot be
// read.
func Compile(site tunnel.Allow, narrow *tunnel.Narrow) (*Policy, error) {
	p := &Policy{site: site, levels: map[string]psa.Level{"": psa.LevelBaseline}}
	if narrow != nil {
		p.parent = *narrow
	}
	for _, list := range [][]string{site.Namespaces, site.Kinds, site.DenyKinds, site.ServiceAccounts,
		site.LoadBalancerClasses,
		site.Controllers, site.ClusterControllers, p.parent.Controllers, p.parent.ClusterControllers,
		site.Webhooks, p.parent.Webhooks, site.Upsync, p.parent.Upsync,
		p.parent.Namespaces, p.parent.Kinds, p.parent.DenyKinds, p.parent.ServiceAccounts, p.parent.LoadBalancerClasses} {
		for _, pattern := range list {
			if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
				return nil, fmt.Errorf("%q is no pattern: write a name, '*' stands for any part of it", pattern)
			}
		}
	}
	if err := p.compileWays(); err != nil {
		return nil, err
	}
	for _, rule := range slices.Concat(site.Hosts, site.Definitions) {
		space, pattern, _ := strings.Cut(rule, "=")
		if _, err := path.Match(space, ""); err != nil || space == "" || pattern == "" {
			return nil, fmt.Errorf("%q: write SPACE=HOST or SPACE=GROUP; '*' stands for any part", rule)
		}
		if _, err := path.Match(pattern, ""); err != nil {
			return nil, fmt.Errorf("%q: write SPACE=HOST or SPACE=GROUP; '*' stands for any part", rule)
		}
	}
	for _, rule := range site.PodSecurity {
		space, text, found := strings.Cut(rule, "=")
		if !found {
			space, text = "", rule
		}
		level, err := psa.ParseLevel(text)
		if err != nil {
			return nil, fmt.Errorf("podSecurity %q: write LEVEL or SPACE=LEVEL; the level %w", rule, err)
		}
		p.levels[space] = level
	}
	if p.parent.PodSecurity == "" {
		return p, nil
	}
	floor, err := psa.ParseLevel(p.parent.PodSecurity)
	if err != nil {
		return nil, fmt.Errorf("podSecurity %q: it %w", p.parent.PodSecurity, err)
	}
	for space, level := range p.levels {
		p.levels[space] = stricter(level, floor)
	}
	return p, nil
}

// Result returns what remains of the site's rules, for people.
func (p *Policy) Result() tunnel.Allow {
	out := tunnel.Allow{
		Namespaces: p.site.Namespaces, Kinds: p.site.Kinds, ServiceAccounts: p.site.ServiceAccounts,
		LoadBalancerClasses: p.site.LoadBalancerClasses,
		Controllers:         p.site.Controllers, ClusterControllers: p.site.ClusterControllers,
		Webhooks: p.site.Webhooks,
		Upsync:   p.site.Upsync,
		Hosts:    p.site.Hosts, Definitions: p.site.Definitions,
		ExternalBackends: both(p.site.ExternalBackends, p.parent.ExternalBackends),
		DenyKinds:        slices.Concat(p.site.DenyKinds, p.parent.DenyKinds),
		TakeOver: both(
			p.site.TakeOver,
			p.parent.TakeOver,
		), ExternalIPs: both(p.site.ExternalIPs, p.parent.ExternalIPs),
		VolumeNames: both(p.site.VolumeNames, p.parent.VolumeNames), Tokens: both(p.site.Tokens, p.parent.Tokens),
	}
	p.streamsLeft(&out)
	for _, list := range []struct {
		left *[]string
		only []string
	}{
		{&out.Namespaces, p.parent.Namespaces}, {&out.Kinds, p.parent.Kinds},
		{&out.ServiceAccounts, p.parent.ServiceAccounts}, {&out.LoadBalancerClasses, p.parent.LoadBalancerClasses},
		{&out.Controllers, p.parent.Controllers}, {&out.ClusterControllers, p.parent.ClusterControllers},
		{&out.Webhooks, p.parent.Webhooks}, {&out.Upsync, p.parent.Upsync},
	} {
		if list.only != nil {
			*list.left = tunnel.Intersect(*list.left, list.only)
		}
	}
	for _, space := range sortedKeys(p.levels) {
		rule := string(p.levels[space])
		if space != "" {
			rule = space + "=" + rule
		}
		out.PodSecurity = append(out.PodSecurity, rule)
	}
	return out
}

// Upsync refuses a space to bring objects that were born here. It returns nil if the site allows it.
func (p *Policy) Upsync(space string) error {
	if named(space, p.site.Upsync, p.parent.Upsync) {
		return nil
	}
	if matches(space, p.site.Upsync) {
		return refuse(ReasonUpsync, "", "", "spec.allow.upsync of the SyncTarget does not name space %s; "+
			"the center's admin can change that", space)
	}
	return refuse(ReasonUpsync, "upsync", "["+space+"]",
		"the site does not let space %s bring objects that were born here into the space (spec.upsync of a Placement)", space)
}

// TakeOver refuses to take over an object that exists. It returns nil if the site allows it.
func (p *Policy) TakeOver(group, resource string) error {
	switch {
	case group == "" && resource == "secrets":
		return refuse(
			ReasonTakeOver,
			"",
			"",
			"the target already has a Secret of this name that was not delivered from here; "+
				"a Secret is never taken over: remove it there, or choose another name",
		)
	case !both(p.site.TakeOver, p.parent.TakeOver):
		return refuse(
			ReasonTakeOver,
			"takeOver",
			"true",
			"the target already has an object of this name that was not delivered from here, and "+
				"the site lets nothing be taken over; "+
				"remove it there, or choose another name",
		)
	}
	return nil
}

// both returns what the site says, unless the parent takes it away.
func both(site bool, parent *bool) bool { return site && (parent == nil || *parent) }

// named reports whether a name matches a pattern of the site, and of the parent where that names
// any.
func named(name string, site, parent []string) bool {
	return matches(name, site) && (parent == nil || matches(name, parent))
}

func matches(name string, patterns []string) bool { return tunnel.Matches(name, patterns) }
