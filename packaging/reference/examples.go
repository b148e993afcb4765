package reference

import (
	"strings"

	"github.com/urfave/cli/v2"
)

// examples are command lines to begin with, by the command's path without the program. A test holds each to
// the program, and each command that does something to having one.
var examples = map[string][]string{
	"": {"skerry install center", "skerry token create", "skerry space create shop", "skerry status", "skerry doctor"},
	"center": {"skerry center --listen 0.0.0.0:7443 --advertise center.example.com",
		"skerry center --parent https://center.example.com:7443 --token-file token --name nordic"},
	"center backup":  {"skerry center backup /backup/before-upgrade.skerry"},
	"center backups": {"skerry center backups /backup", "skerry center backups s3://backups/skerry -o wide"},
	"center restore": {"skerry center restore /backup/before-upgrade.skerry --dry-run",
		"skerry center restore /backup --data-dir /var/lib/skerry"},
	"center rotate-encryption-key": {"skerry center rotate-encryption-key"},
	"agent": {"skerry agent --parent https://center.example.com:7443 --token-file token --name paris " +
		"--kubeconfig /etc/rancher/k3s/k3s.yaml"},
	"agent check":   {"skerry agent check", "skerry agent check --data-dir /var/lib/skerry-agent -o json"},
	"agent rbac":    {"skerry agent rbac | kubectl apply -f -", "skerry agent rbac --policy restricted"},
	"agent policy":  {"skerry agent policy --policy trusted"},
	"agent upgrade": {"skerry agent upgrade"},
	"token create": {"skerry token create",
		"skerry token create --uses 500 --ttl 30d --labels batch=2026-11 -o token >token"},
	"token list":   {"skerry token list -o wide"},
	"token revoke": {"skerry token revoke 0f901e7b"},
	"space create": {"skerry space create shop", "skerry space create shop --dry-run -o yaml"},
	"space list":   {"skerry space list", "skerry space list -l team=a -o name"},
	"space use":    {"skerry space use shop", "skerry space use shop --at eu/paris"},
	"space delete": {"skerry space delete shop --dry-run"},
	"space kubeconfig": {"skerry space kubeconfig shop --user alice --role cluster-admin -o alice.kubeconfig",
		"skerry space kubeconfig shop --user bob --role view -n web --ttl 7d --renewable -o bob.kubeconfig"},
	"space grant": {"skerry space grant shop --user bob --role edit -n web",
		"skerry space grant shop --group developers --role view"},
	"space revoke": {"skerry space revoke shop --user bob"},
	"space users":  {"skerry space users shop"},
	"space export": {"skerry space export shop",
		"skerry space export shop -o - | skerry space import shop -f - --kubeconfig other.kubeconfig"},
	"space import":    {"skerry space import shop -f shop.skerry-space --dry-run"},
	"login":           {"skerry login", "skerry login --device"},
	"credential":      {"skerry credential center.example.com/shop"},
	"target list":     {"skerry target list", "skerry target list -l region=eu -o wide"},
	"target cordon":   {"skerry target cordon paris"},
	"target uncordon": {"skerry target uncordon paris"},
	"target drain": {"skerry target drain paris --dry-run", "skerry target drain paris --timeout 30m",
		"skerry target drain paris --jobs Restart"},
	"target out-of-service": {"skerry target out-of-service paris"},
	"target accept":         {"skerry target accept paris --dry-run", "skerry target accept --all --yes"},
	"target upgrade": {"skerry target upgrade --selector ring=first --to 1.4.0 --wait 30m",
		"skerry target upgrade paris --to none"},
	"target rename":  {"skerry target rename paris lyon --dry-run"},
	"target remove":  {"skerry target remove paris --dry-run", "skerry target remove paris --clean"},
	"target revoke":  {"skerry target revoke paris"},
	"target release": {"skerry target release paris"},
	"rebalance":      {"skerry rebalance --dry-run", "skerry rebalance --target paris --max-moves 3"},
	"ca status":      {"skerry ca status"},
	"ca rotate":      {"skerry ca rotate --dry-run", "skerry ca rotate --retire-after 90d"},
	"ca forget":      {"skerry ca forget old.example.com"},
	"status": {"skerry status", "skerry status paris", "skerry status -w --tree", "skerry status --problems",
		"skerry status --moves --space shop"},
	"explain placement": {"skerry explain placement deployment/web --space shop",
		"skerry explain placement deployment/web --without paris"},
	"trace": {"skerry trace db --from paris", "skerry trace db -n shop --port metrics --from nordic/tromso",
		"skerry trace db-0.db --from paris --pod web/front-0"},
	"render": {"skerry render deployment/web --target paris --space shop",
		"skerry render deployment/web --all-targets --diff"},
	"rollout status":  {"skerry rollout status web"},
	"rollout pause":   {"skerry rollout pause web"},
	"rollout resume":  {"skerry rollout resume web"},
	"rollout approve": {"skerry rollout approve web"},
	"rollout undo":    {"skerry rollout undo web", "skerry rollout undo web --to-release 4"},
	"install center": {"skerry install center --dry-run",
		"skerry install center --advertise center.example.com --set backup-to=/backup"},
	"install relay": {"skerry install relay --parent https://center.example.com:7443 --token-file token --name nordic"},
	"install agent": {"skerry install agent --parent https://center.example.com:7443 --token-file token --name paris",
		"skerry install agent --parent https://center.example.com:7443 --token-file token --set policy=restricted"},
	"install check":   {"skerry install check agent"},
	"uninstall":       {"skerry uninstall --dry-run"},
	"completion bash": {"skerry completion bash >/usr/share/bash-completion/completions/skerry"},
	"completion zsh":  {"skerry completion zsh >/usr/share/zsh/vendor-completions/_skerry"},
	"completion fish": {"skerry completion fish >~/.config/fish/completions/skerry.fish"},
	"doctor": {"sudo skerry doctor",
		"skerry doctor --parent https://center.example.com:7443 --token-file token --kubeconfig /etc/rancher/k3s/k3s.yaml"},
	"doctor center":              {"sudo skerry doctor center -o wide"},
	"doctor agent":               {"sudo skerry doctor agent"},
	"doctor workstation":         {"skerry doctor workstation -o json"},
	"support-bundle":             {"sudo skerry support-bundle"},
	"support-bundle center":      {"sudo skerry support-bundle center -f center.tar.zst"},
	"support-bundle agent":       {"sudo skerry support-bundle agent -f site.tar.zst"},
	"support-bundle workstation": {"skerry support-bundle workstation"},
	"volume copy": {"skerry volume copy -n shop copy-paris:/data copy-oslo:/data --live",
		"skerry volume copy -n shop copy-paris:/data copy-oslo:/data --program /usr/bin/skerry"},
	"volume list": {"skerry volume list", "skerry volume list -n web -o json"},
	"volume promote": {"skerry volume promote web/notes --at oslo --dry-run",
		"skerry volume promote web/notes --at oslo"},
	"volume forget":  {"skerry volume forget web/notes --at paris", "skerry volume forget web/notes --at paris --yes"},
	"volume send":    {"skerry volume send /data"},
	"volume receive": {"skerry volume receive /data"},
	"volume settle":  {"skerry volume settle /data"},
	"volume pause":   {"skerry volume pause"},
	"version":        {"skerry version", "skerry version -o json"},
}

// WithExamples has the help of commands, and of those below them, end with their examples.
func WithExamples(commands []*cli.Command) []*cli.Command {
	for _, c := range commands {
		withExamples(c, c.Name)
	}
	return commands
}

func withExamples(c *cli.Command, path string) {
	if lines := examples[path]; len(lines) > 0 {
		help := cli.CommandHelpTemplate
		if len(c.Subcommands) > 0 {
			help = cli.SubcommandHelpTemplate
		}
		c.CustomHelpTemplate = help + "\nEXAMPLES:\n   " + strings.Join(lines, "\n   ") + "\n"
	}
	for _, sub := range c.Subcommands {
		withExamples(sub, path+" "+sub.Name)
	}
}
