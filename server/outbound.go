package server

import (
	"github.com/urfave/cli/v2"

	"skerry.dev/skerry/server/apiserver/outbound"
)

// The flags that say which addresses the center connects to because a space asks for it.
const (
	WebhookAllowFlag = "webhook-allow-cidr"
	WebhookDenyFlag  = "webhook-deny-cidr"
)

// WebhookFlags are these flags. What cannot be meant is an error that usage makes.
func WebhookFlags(usage func(format string, args ...any) error) []cli.Flag {
	check := func(name string) func(*cli.Context, []string) error {
		return func(_ *cli.Context, networks []string) error {
			if _, err := outbound.Parse(networks); err != nil {
				return usage("--%s: %s", name, err)
			}
			return nil
		}
	}
	return []cli.Flag{
		&cli.StringSliceFlag{
			Name:    WebhookAllowFlag,
			Action:  check(WebhookAllowFlag),
			EnvVars: []string{"SKERRY_WEBHOOK_ALLOW_CIDR"},
			Usage: "networks, such as 10.1.0.0/16, " +
				"in which webhooks of spaces may be, besides public addresses; the longest network that holds an address counts",
		},
		&cli.StringSliceFlag{
			Name:    WebhookDenyFlag,
			Action:  check(WebhookDenyFlag),
			EnvVars: []string{"SKERRY_WEBHOOK_DENY_CIDR"},
			Usage: "networks in which " +
				"webhooks of spaces may not be; 0.0.0.0/0 and ::/0 leave only what --" + WebhookAllowFlag + " names",
		},
	}
}

// outboundRules are those that a configuration says.
func outboundRules(cfg Config) (*outbound.Rules, error) {
	allow, err := outbound.Parse(cfg.WebhookAllow)
	if err != nil {
		return nil, err
	}
	deny, err := outbound.Parse(cfg.WebhookDeny)
	if err != nil {
		return nil, err
	}
	rules := outbound.New(allow, deny)
	rules.Log = cfg.Log.With("part", "webhooks")
	return rules, nil
}
