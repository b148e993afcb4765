package agent

import (
	"cmp"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"skerry.dev/skerry/agent/policy"
	"skerry.dev/skerry/tunnel"
)

// allowLists and allowSwitches are the flags of what spaces may do, each with its field. In
// agent.yaml they stand under the key allow.
var (
	allowLists = []struct {
		name, usage string
		field       func(*tunnel.Allow) *[]string
	}{
		{
			"allow-namespaces",
			"namespaces of the cluster that spaces may use although they exist: NAMESPACE, or " +
				"SPACE/NAMESPACE; '*' stands for any part",
			func(a *tunnel.Allow) *[]string { return &a.Namespaces },
		},
		{
			"allow-kinds",
			"further kinds that spaces may apply: RESOURCE.GROUP, such as " +
				"priorityclasses.scheduling.k8s.io, *.cattle.io or *",
			func(a *tunnel.Allow) *[]string { return &a.Kinds },
		},
		{
			"allow-deny-kinds",
			"kinds that no space may apply: RESOURCE.GROUP",
			func(a *tunnel.Allow) *[]string { return &a.DenyKinds },
		},
		{"allow-service-accounts", "ServiceAccounts of the cluster that workloads may name: NAMESPACE/NAME",
			func(a *tunnel.Allow) *[]string { return &a.ServiceAccounts }},
		{
			"allow-pod-security",
			"Pod Security level of all spaces, or SPACE=LEVEL of one: privileged, baseline (the default) or restricted",
			func(a *tunnel.Allow) *[]string { return &a.PodSecurity },
		},
		{
			"allow-controllers",
			"spaces whose Roles and RoleBindings are applied, so that their Pods can use the cluster's API in " +
				"their own namespaces: SPACE; '*' stands for any part",
			func(a *tunnel.Allow) *[]string { return &a.Controllers },
		},
		{
			"allow-cluster-controllers",
			"spaces whose ClusterRoles and ClusterRoleBindings are applied, as far as their own " +
				"account has those rights: SPACE",
			func(a *tunnel.Allow) *[]string { return &a.ClusterControllers },
		},
		{
			"allow-webhooks",
			"spaces whose webhooks for Pods, ReplicaSets, claims and Jobs the cluster calls, in the namespaces made for " +
				"them, by Services of theirs here: SPACE; '*' stands for any part",
			func(a *tunnel.Allow) *[]string { return &a.Webhooks },
		},
		{
			"allow-upsync",
			"spaces that may bring objects which were born here, Secrets too, into the space from the namespaces made for " +
				"them (spec.upsync of a Placement): SPACE; '*' stands for any part",
			func(a *tunnel.Allow) *[]string { return &a.Upsync },
		},
		{
			"allow-hosts",
			"hosts of Ingresses, Gateways and routes that are kept for some spaces: SPACE=HOST; spaces that are named with " +
				"one host share it; '*' stands for any part",
			func(a *tunnel.Allow) *[]string { return &a.Hosts },
		},
		{
			"allow-definitions",
			"API groups whose definitions are kept for some spaces: SPACE=GROUP; '*' stands for any part",
			func(a *tunnel.Allow) *[]string { return &a.Definitions },
		},
		{
			"allow-load-balancer-classes",
			"values of spec.loadBalancerClass that Services may have",
			func(a *tunnel.Allow) *[]string { return &a.LoadBalancerClasses },
		},
		{
			"allow-logs",
			"whether spaces may read the logs of their Pods: true (the default) or false, " +
				"SPACE=true or SPACE=false for one",
			func(a *tunnel.Allow) *[]string { return &a.Logs },
		},
		{
			"allow-exec",
			"whether spaces may run processes in their Pods (exec, attach, debug), as --allow-logs",
			func(a *tunnel.Allow) *[]string { return &a.Exec },
		},
		{
			"allow-port-forward",
			"whether spaces may reach the ports of their Pods, as --allow-logs",
			func(a *tunnel.Allow) *[]string { return &a.PortForward },
		},
		{
			"allow-view",
			"whether spaces may read what is in their namespaces, but Secrets, and what their Pods use, " +
				"as --allow-logs",
			func(a *tunnel.Allow) *[]string { return &a.View },
		},
		{
			"allow-pod-writes",
			"whether spaces may delete, evict and label their Pods, and what else is born here for them: claims, Jobs; " +
				"as --allow-logs",
			func(a *tunnel.Allow) *[]string { return &a.PodWrites },
		},
		{
			"allow-services",
			"whether Services of spaces answer Pods of their space at other sites (skerry.dev/reach), as --allow-logs",
			func(a *tunnel.Allow) *[]string { return &a.Services },
		},
	}
	allowSwitches = []struct {
		name, usage string
		field       func(*tunnel.Allow) *bool
	}{
		{
			"allow-take-over",
			"let Placements take over objects that exist, but never Secrets",
			func(a *tunnel.Allow) *bool { return &a.TakeOver },
		},
		{
			"allow-external-ips",
			"let Services have externalIPs and a loadBalancerIP",
			func(a *tunnel.Allow) *bool { return &a.ExternalIPs },
		},
		{
			"allow-external-backends",
			"let Ingresses and routes lead to Services of type ExternalName",
			func(a *tunnel.Allow) *bool { return &a.ExternalBackends },
		},
		{
			"allow-volume-names",
			"let claims choose volumes of the site (by name, by selector, those without a class), and Pods name storage",
			func(a *tunnel.Allow) *bool { return &a.VolumeNames },
		},
		{
			"allow-tokens",
			"let Pods and Secrets ask for tokens for the cluster's own API",
			func(a *tunnel.Allow) *bool { return &a.Tokens },
		},
	}
)

// AllowFlags are the flags of what spaces may do on this site's cluster beyond the default.
func AllowFlags() (out []cli.Flag) {
	env := func(name string) []string {
		return []string{"SKERRY_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))}
	}
	out = append(out, &cli.StringFlag{
		Name:     "policy",
		Value:    string(policy.Baseline),
		EnvVars:  env("policy"),
		Category: "What spaces may do here",
		Usage: "what spaces may do here, in one word: restricted, baseline or trusted (skerry agent policy prints all of " +
			"it); the flags --allow-* override it one by one",
	})
	for _, f := range allowLists {
		out = append(
			out,
			&cli.StringSliceFlag{
				Name:     f.name,
				Usage:    f.usage,
				EnvVars:  env(f.name),
				Category: "What spaces may do here",
			},
		)
	}
	for _, f := range allowSwitches {
		out = append(
			out,
			&cli.BoolFlag{Name: f.name, Usage: f.usage, EnvVars: env(f.name), Category: "What spaces may do here"},
		)
	}
	return append(
		out,
		spacesNamespaceFlag(),
		gatewayAddressFlag(),
		&cli.BoolFlag{
			Name:     "allow-scale-to-zero",
			Value:    true,
			EnvVars:  env("allow-scale-to-zero"),
			Category: "What spaces may do here",
			Usage: "let what must not run twice be stopped here when the parent has not been heard for " +
				"SyncTarget.spec.lease; false keeps it running, and the parent never starts it elsewhere",
		},
		&cli.BoolFlag{
			Name:     "impersonate",
			Value:    true,
			EnvVars:  env("impersonate"),
			Category: "What spaces may do here",
			Usage: "write for each space as the ServiceAccount of its name in " +
				"--spaces-namespace; false writes with the agent's own rights",
		},
	)
}

// AllowOf reads the flags: the word of --policy, and what overrides it. A value that cannot be read is
// an error that usage makes.
func AllowOf(c *cli.Context, usage func(format string, args ...any) error) (tunnel.Allow, error) {
	a, err := policy.Preset(cmp.Or(c.String("policy"), string(policy.Baseline))).Allows()
	if err != nil {
		return a, usage("%s", err)
	}
	denied := a.DenyKinds
	for _, f := range allowLists {
		if c.IsSet(f.name) {
			*f.field(&a) = slices.DeleteFunc(c.StringSlice(f.name), func(v string) bool { return v == "" })
		}
	}
	if c.IsSet("allow-deny-kinds") && len(a.DenyKinds) > 0 {
		a.DenyKinds = append(a.DenyKinds, denied...) // to deny more opens nothing; an empty list does
	}
	for _, f := range allowSwitches {
		if c.IsSet(f.name) {
			*f.field(&a) = c.Bool(f.name)
		}
	}
	if _, err := policy.Compile(a, nil); err != nil {
		return a, usage("allow: %s", err)
	}
	return a, nil
}
