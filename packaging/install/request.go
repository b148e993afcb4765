package install

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"skerry.dev/skerry/tunnel/enroll"
)

// request is what one installation sets.
type request struct {
	mode mode
	// keys are set in the service's file.
	keys map[string]any
	// credentials are written by their names.
	credentials map[string]string
	// start has the service run now; else it waits for the next boot.
	start bool
}

// secretLimit bounds what is read of a token or kubeconfig.
const secretLimit = 1 << 20

func requestOf(c *cli.Context, m mode) (request, error) {
	r := request{m, map[string]any{}, map[string]string{}, !c.Bool("no-start")}
	for _, name := range []string{"listen", "name"} {
		if v := c.String(name); v != "" {
			r.keys[name] = v
		}
	}
	for _, name := range []string{"parent", "advertise"} {
		if values := c.StringSlice(name); len(values) > 0 {
			r.keys[name] = values
		}
	}
	set, err := settings(c.Generic("set"), flagsOf(c, m))
	if err != nil {
		return r, err
	}
	maps.Copy(r.keys, set)
	for _, pair := range [][2]string{{"token-file", "token"}, {"kubeconfig", "kubeconfig"}} {
		flag, credential := pair[0], pair[1]
		path := c.String(flag)
		if path == "" {
			continue
		}
		text, err := readSecret(path)
		if errors.Is(err, os.ErrNotExist) && !c.IsSet(flag) {
			if _, err := os.Stat(here(c).path(credentialsDir + "/" + credential)); err == nil {
				continue // that of an earlier installation stays
			}
			return r, fmt.Errorf("--%s is required: there is no %s here; see: %s --help", flag, path, c.Command.HelpName)
		} else if err != nil {
			return r, fmt.Errorf("--%s: %w", flag, err)
		}
		if err := checkSecret(credential, text); err != nil {
			return r, fmt.Errorf("--%s %s: %w", flag, path, err)
		}
		r.credentials[credential] = text
	}
	return r, nil
}

// checkSecret refuses what is no join token, or no kubeconfig, before it is kept for a service that would end
// by it.
func checkSecret(credential, text string) error {
	if credential == "token" {
		if strings.TrimSpace(text) == "" {
			return errors.New("there is no token in it; make one at the center with: skerry token create -o token")
		}
		_, err := enroll.ParseToken(strings.TrimSpace(text))
		return err
	}
	config, err := clientcmd.Load([]byte(text))
	if err != nil || config.Contexts[config.CurrentContext] == nil {
		return errors.New("this is no kubeconfig with a current context; give the file of the workload cluster")
	}
	return nil
}

func readSecret(path string) (string, error) {
	from := io.Reader(os.Stdin)
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return "", err
		}
		defer f.Close()
		from = f
	}
	data, err := io.ReadAll(io.LimitReader(from, secretLimit+1))
	if err == nil && len(data) > secretLimit {
		err = fmt.Errorf("%s is larger than %d bytes", path, secretLimit)
	}
	return string(data), err
}

// merge puts keys into the text of a configuration file. Lines of the file stay as they are, except
// those of keys that are set anew.
func merge(text string, keys map[string]any) (string, error) {
	var there map[string]any
	if err := yaml.Unmarshal([]byte(text), &there); err != nil {
		return "", err
	}
	names := make([]string, 0, len(keys))
	for name := range keys {
		names = append(names, name)
	}
	slices.Sort(names)
	var added strings.Builder
	for _, name := range names {
		line, err := yaml.Marshal(map[string]any{name: keys[name]})
		if err != nil {
			return "", err
		}
		if _, ok := there[name]; ok {
			text = without(text, name)
		}
		added.Write(line)
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	text += added.String()
	if !says(text, there, keys) {
		return "", errors.New("it is not written key by key, a line each; set in it: " +
			strings.ReplaceAll(strings.TrimSpace(added.String()), "\n", "; "))
	}
	return text, nil
}

// says reports whether a text has the keys as they were set, and all others as they were there.
func says(text string, there, set map[string]any) bool {
	var got, want map[string]any
	merged := map[string]any{}
	maps.Copy(merged, set)
	for key, value := range there {
		if _, ok := set[key]; !ok {
			merged[key] = value
		}
	}
	data, err := yaml.Marshal(merged)
	if err != nil || yaml.Unmarshal(data, &want) != nil || yaml.Unmarshal([]byte(text), &got) != nil {
		return false
	}
	return len(got) == len(want) && reflect.DeepEqual(got, want) || len(got)+len(want) == 0
}

// without removes a top-level key, with the lines that belong to it.
func without(text, key string) string {
	var out strings.Builder
	skipping := false
	for line := range strings.Lines(text) {
		if skipping && (strings.HasPrefix(line, " ") || strings.HasPrefix(line, "-")) {
			continue
		}
		if skipping = strings.HasPrefix(line, key+":"); !skipping {
			out.WriteString(line)
		}
	}
	return out.String()
}
