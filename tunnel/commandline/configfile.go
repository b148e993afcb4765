package commandline

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/urfave/cli/v2"
	"sigs.k8s.io/yaml"
)

// FromFile sets the flags that neither the command line nor the environment set from the YAML file
// of the flag "config": its keys are the names of the command's other flags, and of a mapping those
// of the flags that begin with its key. A file at the flag's default path need not exist. What
// cannot be meant is ErrUsage and names the key: an unknown key, a list for a flag that takes one
// value, nothing for any flag.
func FromFile(c *cli.Context) error {
	path := c.String("config")
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) && !c.IsSet("config") {
		return nil
	} else if err != nil {
		return fmt.Errorf("read configuration: %w; write that file, or leave out --config", err)
	}
	var read any
	if err := yaml.UnmarshalStrict(data, &read); err != nil {
		return Usage("configuration %s: %s; write lines of KEY: VALUE, indented by spaces and never by tabs", path, err)
	}
	keys, ok := read.(map[string]any)
	if !ok && read != nil {
		return Usage("configuration %s: there are no keys in it; write lines of KEY: VALUE, such as name: paris", path)
	}
	for key, value := range flat(keys, c.Command.Flags) {
		i := slices.IndexFunc(c.Command.Flags, func(f cli.Flag) bool { return f.Names()[0] == key })
		if i < 0 || key == "config" {
			text := fmt.Sprintf("configuration %s: unknown key %q; the keys are the flags of skerry %s", path, key,
				c.Command.Name)
			if near := nearestFlag(c.Command.Flags, key); near != "" {
				text += fmt.Sprintf("; did you mean %s?", near)
			}
			return Usage("%s", text)
		}
		if c.IsSet(key) {
			continue
		}
		values, err := scalars(value, c.Command.Flags[i])
		if err != nil {
			return Usage("configuration %s: %s: %s", path, key, err)
		}
		if list, ok := value.([]any); ok && len(list) == 0 && strings.HasPrefix(key, "allow-") {
			values = []string{""} // set, to nothing: it overrides the word of policy
		}
		for _, v := range values {
			if err := c.Set(key, v); err != nil {
				return Usage("configuration %s: %s: %q: %s", path, key, v, takes(c.Command.Flags, key, v))
			}
		}
	}
	return nil
}

// flat puts the keys of a mapping that is no flag behind its own: "allow: {takeOver: true}" is the
// flag allow-take-over.
func flat(keys map[string]any, flags []cli.Flag) map[string]any {
	out := map[string]any{}
	for key, value := range keys {
		below, ok := value.(map[string]any)
		isGroup := slices.ContainsFunc(flags, func(f cli.Flag) bool { return strings.HasPrefix(f.Names()[0], key+"-") })
		if !ok || !isGroup || slices.ContainsFunc(flags, func(f cli.Flag) bool { return f.Names()[0] == key }) {
			out[key] = value
			continue
		}
		for name, v := range below {
			out[key+"-"+kebab(name)] = v
		}
	}
	return out
}

// kebab writes a camelCase key as a flag is written: loadBalancerClasses, externalIPs.
func kebab(name string) string {
	var b strings.Builder
	for i, r := range name {
		upper := unicode.IsUpper(r)
		if upper && i > 0 &&
			(!unicode.IsUpper(rune(name[i-1])) || i+1 < len(name) && unicode.IsLower(rune(name[i+1])) && name[i+1] != 's') {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// scalars are the texts that a key's value gives its flag.
func scalars(value any, flag cli.Flag) ([]string, error) {
	list, ok := value.([]any)
	if !ok {
		list = []any{value}
	} else if many, takesMany := flag.(cli.DocGenerationSliceFlag); !takesMany || !many.IsSliceFlag() {
		return nil, errors.New("takes one value, not a list")
	}
	out := make([]string, len(list))
	for i, v := range list {
		switch v := v.(type) {
		case string:
			out[i] = v
		case bool:
			if _, isText := flag.(*cli.StringFlag); isText {
				return nil, errors.New("takes a text, and YAML reads yes, no, on, off, y and n as true or false; write it in " +
					"quotes if that is meant")
			}
			out[i] = fmt.Sprint(v)
		case float64:
			out[i] = strconv.FormatFloat(v, 'f', -1, 64)
		case nil:
			return nil, errors.New("has no value; leave the key out, or write a value")
		default:
			return nil, errors.New("takes plain text, numbers or true and false; a list of k=v is written - k=v")
		}
	}
	return out, nil
}

// HostPort refuses an address that is not HOST:PORT, as ErrUsage that names the flag. The host may
// be empty (every address of this machine), the port 0 (any that is free).
func HostPort(flag, address string) error {
	_, port, err := net.SplitHostPort(address)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return Usage("%s %q: write HOST:PORT, for example 0.0.0.0:7443", flag, address)
	}
	return nil
}
