package doctor

import (
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
	"sigs.k8s.io/yaml"

	"skerry.dev/skerry/server/admin"
	"skerry.dev/skerry/tunnel/enroll"
)

// shown are the flags whose values a support bundle shows. Whatever is not here is shown as set or
// not: a new flag may hold a secret.
var shown = []string{
	"config", "data-dir", "parent", "name", "labels", "token-file", "proxy-file", "kubeconfig", "listen", "advertise",
	"metrics-listen", "log-level", "log-format", "certificate-life", "max-delete-share", "force", "impersonate",
	"spaces-namespace", "spaces-domain", "authentication-config", "encryption-key-file", "encryption-provider-config",
	"audit-log-path", "audit-policy-file", "audit-log-maxsize", "audit-log-maxbackup", "audit-log-maxage",
	"webhook-allow-cidr", "webhook-deny-cidr", "gateway-address", admin.DatastoreSecretFlag, admin.ReplicaAddressFlag,
	"ingress-listen", "ingress-advertise", "ingress-balancer",
}

// shownGroup begins the names of further flags that are shown.
const shownGroup = "allow-"

// settings are the flags that are set, by command line, variable or file, without secrets.
func settings(c *cli.Context) []byte {
	lines := []string{}
	for _, f := range c.Command.Flags {
		name := f.Names()[0]
		if !c.IsSet(name) || name == "file" {
			continue
		}
		value := "(set, not shown)"
		if slices.Contains(shown, name) || strings.HasPrefix(name, shownGroup) {
			value = fmt.Sprint(c.Value(name))
			if list, ok := c.Value(name).(cli.StringSlice); ok {
				value = strings.Join(list.Value(), ", ")
			}
		}
		lines = append(lines, name+": "+value)
	}
	return []byte(strings.Join(lines, "\n") + "\n")
}

// secrets are those that the flags of a part lead to: what a scrubber is to know.
func secrets(c *cli.Context, here *machinePlaces) (out []string) {
	file := func(path string) string {
		data, err := os.ReadFile(path)
		if path == "" || err != nil {
			return ""
		}
		return string(data)
	}
	for _, text := range []string{c.String("token"), file(c.String("token-file")), file(here.credential("token"))} {
		out = append(out, text)
		if token, err := enroll.ParseToken(text); err == nil {
			out = append(out, token.Secret)
		}
	}
	for _, text := range []string{c.String("proxy"), file(c.String("proxy-file")), c.String(admin.DatastoreFlag),
		os.Getenv("HTTPS_PROXY"), os.Getenv("https_proxy")} {
		if u, err := url.Parse(strings.TrimSpace(text)); err == nil && u.User != nil {
			password, _ := u.User.Password()
			out = append(out, password, url.QueryEscape(password))
		}
	}
	out = append(out, file(c.String(admin.DatastoreSecretFlag)))
	for _, path := range []string{c.String("kubeconfig"), here.credential("kubeconfig"), os.Getenv("KUBECONFIG")} {
		out = append(out, kubeconfigSecrets(file(path))...)
	}
	return out
}

// kubeconfigSecrets are all texts that stand below the users of a kubeconfig.
func kubeconfigSecrets(text string) []string {
	var file struct{ Users []struct{ User any } }
	if err := yaml.Unmarshal([]byte(text), &file); err != nil {
		return nil
	}
	var out []string
	for _, u := range file.Users {
		out = append(out, texts(u.User)...)
	}
	return out
}

// texts are the texts in a value.
func texts(v any) (out []string) {
	switch v := v.(type) {
	case string:
		out = append(out, v)
	case []any:
		for _, e := range v {
			out = append(out, texts(e)...)
		}
	case map[string]any:
		for _, e := range v {
			out = append(out, texts(e)...)
		}
	}
	return out
}
