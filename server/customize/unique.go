package customize

import (
	"maps"
	"slices"
	"strings"

	"skerry.dev/skerry/server/fields"
)

// Kubernetes takes Pods that name a variable, a port, an alias of a host or a Secret for images twice. A
// target takes objects by server-side apply, which refuses such lists. So they are sent without what says
// nothing more: the containers get the same. What cannot be said otherwise is left: agents write it otherwise.

// mostVariables bounds the work for one container. Who has more of them names none twice.
const mostVariables = 1000

// unique has the Pods of an object name everything once.
func unique(o map[string]any, name string) {
	path, runs := podPaths[name]
	if !runs {
		return
	}
	at := o
	for _, field := range path {
		at = fields.Map(at, field)
	}
	spec, changes := fields.Map(at, "spec"), map[string]any{}
	if list, ok := uniqueAliases(fields.List(spec, "hostAliases")); ok {
		changes["hostAliases"] = list
	}
	if list, ok := uniqueNames(fields.List(spec, "imagePullSecrets")); ok {
		changes["imagePullSecrets"] = list
	}
	for _, field := range containerLists {
		if list, ok := uniqueInContainers(fields.List(spec, field)); ok {
			changes[field] = list
		}
	}
	if len(changes) > 0 {
		maps.Copy(podSpecOf(o, name), changes)
	}
}

func uniqueInContainers(containers []any) (out []any, changed bool) {
	for i, c := range containers {
		container, _ := c.(map[string]any)
		env, fewer := uniqueVariables(fields.List(container, "env"))
		ports, less := uniquePorts(fields.List(container, "ports"))
		if !fewer && !less {
			continue
		}
		if !changed {
			out, changed = slices.Clone(containers), true
		}
		container = maps.Clone(container)
		if fewer {
			container["env"] = env
		}
		if less {
			container["ports"] = ports
		}
		out[i] = container
	}
	return out, changed
}

// uniqueVariables leaves of the variables of one name the last, which is what the container gets. What refers
// to an earlier one has its value written out. It reports false where nothing is to be done, or cannot be.
func uniqueVariables(env []any) ([]any, bool) {
	if len(env) > mostVariables {
		return nil, false
	}
	next, seen := make([]int, len(env)), map[string]int{}
	for i := len(env) - 1; i >= 0; i-- {
		variable, ok := env[i].(map[string]any)
		if !ok {
			return nil, false
		}
		name := fields.String(variable, "name")
		next[i] = seen[name]
		seen[name] = i
	}
	if len(seen) == len(env) {
		return nil, false
	}
	env = slices.Clone(env)
	var out []any
	for i := range env {
		if next[i] == 0 {
			out = append(out, env[i])
		} else if !writeOut(env[i].(map[string]any), env[i+1:next[i]+1]) {
			return nil, false
		}
	}
	return out, true
}

// writeOut puts the value of a variable into those that refer to it. It reports false where that value is
// known at the target only, or is made of others.
func writeOut(variable map[string]any, into []any) bool {
	name, value := fields.String(variable, "name"), fields.String(variable, "value")
	for i, e := range into {
		text, refers := replaceReference(fields.String(e.(map[string]any), "value"), name, value)
		if !refers {
			continue
		}
		if variable["valueFrom"] != nil || strings.Contains(value, "$") {
			return false
		}
		other := maps.Clone(e.(map[string]any))
		other["value"], into[i] = text, other
	}
	return true
}

// replaceReference replaces $(NAME) as Kubernetes does: $$ stands for a $.
func replaceReference(text, name, value string) (string, bool) {
	reference := "$(" + name + ")"
	if !strings.Contains(text, reference) {
		return text, false
	}
	var b strings.Builder
	found := false
	for i := 0; i < len(text); {
		switch rest := text[i:]; {
		case strings.HasPrefix(rest, "$$"):
			b.WriteString("$$")
			i += 2
		case strings.HasPrefix(rest, reference):
			b.WriteString(value)
			i, found = i+len(reference), true
		default:
			b.WriteByte(text[i])
			i++
		}
	}
	return b.String(), found
}

// once leaves of the elements of one key the first, joined with what the others say. It reports false where nothing
// is to be done, or cannot be.
func once[K comparable](
	list []any, key func(map[string]any) K, join func(first, other map[string]any) (map[string]any, bool),
) ([]any, bool) {
	at := map[K]int{}
	var out []any
	for _, e := range list {
		element, ok := e.(map[string]any)
		if !ok {
			return nil, false
		}
		k := key(element)
		i, twice := at[k]
		if !twice {
			at[k] = len(out)
			out = append(out, e)
			continue
		}
		if out[i], ok = join(out[i].(map[string]any), element); !ok {
			return nil, false
		}
	}
	return out, len(out) < len(list)
}

// uniquePorts leaves of equal ports one, with the name that one of them has. Ports of two names stay.
func uniquePorts(ports []any) ([]any, bool) {
	type number struct {
		port     int64
		protocol string
	}
	key := func(port map[string]any) number {
		return number{Number(port["containerPort"]), fields.String(port, "protocol")}
	}
	return once(ports, key, func(first, other map[string]any) (map[string]any, bool) {
		was, is := fields.String(first, "name"), fields.String(other, "name")
		if was == "" && is != "" {
			return other, true
		}
		return first, is == "" || is == was
	})
}

// uniqueAliases joins the names of one address.
func uniqueAliases(aliases []any) ([]any, bool) {
	key := func(alias map[string]any) string { return fields.String(alias, "ip") }
	return once(aliases, key, func(first, other map[string]any) (map[string]any, bool) {
		first = maps.Clone(first)
		first["hostnames"] = slices.Concat(fields.List(first, "hostnames"), fields.List(other, "hostnames"))
		return first, true
	})
}

// uniqueNames leaves of the elements of one name the first.
func uniqueNames(list []any) ([]any, bool) {
	key := func(e map[string]any) string { return fields.String(e, "name") }
	return once(list, key, func(first, _ map[string]any) (map[string]any, bool) { return first, true })
}
