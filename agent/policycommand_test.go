package agent

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
)

func TestThePolicyInOneWord(t *testing.T) {
	usage := func(format string, args ...any) error { return fmt.Errorf(format, args...) }
	for _, c := range []struct {
		args       []string
		want, lack []string
		fails      string
	}{
		{want: []string{"policy: baseline\n", `podSecurity: ["baseline"]`, "kinds: []", "externalIPs: false"}},
		{want: []string{`logs: ["true"]`, `exec: ["true"]`, `portForward: ["true"]`, `view: ["true"]`, `podWrites: ["true"]`,
			`services: ["true"]`}}, // an empty list would read as if nobody may
		{args: []string{"--allow-logs", "false"}, want: []string{`logs: ["false"]`}},
		{args: []string{"--policy", "restricted"}, want: []string{`podSecurity: ["restricted"]`}},
		{args: []string{"--policy", "restricted", "--allow-deny-kinds", "secrets"},
			want: []string{`denyKinds: ["secrets","ingressclasses.networking.k8s.io"]`}},
		{args: []string{"--policy", "restricted", "--allow-deny-kinds", ""}, want: []string{"denyKinds: []"}},
		{args: []string{"--policy", "trusted"},
			want: []string{`kinds: ["*"]`, `podSecurity: ["privileged"]`, "externalIPs: true", "tokens: false"}},
		{args: []string{"--policy", "trusted", "--allow-kinds", "storageclasses.storage.k8s.io", "--allow-external-ips=false"},
			want: []string{`kinds: ["storageclasses.storage.k8s.io"]`, "externalIPs: false", "volumeNames: true"}, lack: []string{`"*"],"`}},
		{args: []string{"--policy", "trusted", "--allow-webhooks", ""}, want: []string{"webhooks: []", `controllers: ["*"]`}},
		{args: []string{"--policy", "trusted", "--allow-logs", "false"},
			want: []string{`logs: ["false"] # not by the word`, "kinds: [\"*\"]\n"}},
		{args: []string{"-o", "json", "--allow-tokens"}, want: []string{`"policy":"baseline"`, `"exec":["true"]`, `"kinds":[]`,
			`"tokens":true`, `"externalIPs":false`, `"podSecurity":["baseline"]`, `"overridden":["tokens"]`}},
		{args: []string{"--policy", "open"}, fails: "restricted, baseline, trusted"},
		{args: []string{"--output", "table"}, fails: "use yaml or json"},
	} {
		var out bytes.Buffer
		app := &cli.App{Writer: &out, Commands: []*cli.Command{
			PolicyCommand(usage, []cli.Flag{&cli.StringFlag{Name: "config"}, &cli.IntFlag{Name: "hidden"}}, func(*cli.Context) error { return nil })}}
		err := app.Run(append([]string{"agent", "policy"}, c.args...))
		if c.fails != "" {
			if err == nil || !strings.Contains(err.Error(), c.fails) {
				t.Errorf("%v: %v", c.args, err)
			}
			continue
		}
		for _, want := range c.want {
			if err != nil || !strings.Contains(out.String(), want) {
				t.Errorf("%v lacks %s: %v\n%s", c.args, want, err, out.String())
			}
		}
		for _, lack := range c.lack {
			if strings.Contains(out.String(), lack) {
				t.Errorf("%v has %s:\n%s", c.args, lack, out.String())
			}
		}
	}
}
