package variant

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// podPaths are the built-in kinds with pods, by group and resource, and the fields above the pods'
// spec.
var podPaths = map[string][]string{
	"/pods":                   {"spec"},
	"/replicationcontrollers": {"spec", "template", "spec"},
	"apps/deployments":        {"spec", "template", "spec"},
	"apps/statefulsets":       {"spec", "template", "spec"},
	"apps/daemonsets":         {"spec", "template", "spec"},
	"apps/replicasets":        {"spec", "template", "spec"},
	"batch/jobs":              {"spec", "template", "spec"},
	"batch/cronjobs":          {"spec", "jobTemplate", "spec", "template", "spec"},
}

// containers visits the containers of an object's pods; only those with the names, where there are
// any.
func containers(
	o Object, doc map[string]any, names []string, left *budget, visit func(map[string]any) error,
) error {
	path, ok := podPaths[o.Key.Group+"/"+o.Key.Resource]
	if !ok {
		return nil
	}
	for _, field := range path {
		doc, _ = doc[field].(map[string]any)
	}
	for _, list := range []string{"initContainers", "containers", "ephemeralContainers"} {
		all, _ := doc[list].([]any)
		if err := left.step(len(all) * (1 + len(names))); err != nil {
			return err
		}
		for _, e := range all {
			c, _ := e.(map[string]any)
			name, _ := c["name"].(string)
			if c == nil || len(names) > 0 && !slices.Contains(names, name) {
				continue
			}
			if err := visit(c); err != nil {
				return err
			}
		}
	}
	return nil
}

// image is an Image that has been read.
type image struct {
	from                      string
	registry, repository, tag *template
	containers                []string
	paths                     []pointer
}

func (i *image) apply(o Object, doc map[string]any, v *Values, left *budget) error {
	swap := func(text string) (string, error) {
		r := parseReference(text)
		if i.from != "" && r.name() != i.from && !strings.HasPrefix(r.name(), i.from+"/") {
			return text, nil
		}
		for _, part := range []struct {
			t    *template
			into *string
		}{{i.registry, &r.registry}, {i.repository, &r.repository}, {i.tag, &r.tag}} {
			if part.t == nil {
				continue
			}
			s, err := part.t.text(v)
			if err != nil {
				return "", err
			}
			if *part.into = s; part.t == i.tag {
				r.digest = ""
			}
		}
		out, err := r.check()
		if err == nil {
			err = left.add(len(out) - len(text))
		}
		return out, err
	}
	for _, p := range i.paths {
		have, err := p.find(doc)
		if errors.Is(err, errAbsent) {
			continue
		}
		text, ok := have.(string)
		if err != nil || !ok {
			return fmt.Errorf("%s is no text with an image", p)
		}
		if text, err = swap(text); err == nil {
			err = p.replace(doc, text)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
	}
	if len(i.paths) > 0 && len(i.containers) == 0 {
		return nil
	}
	return containers(o, doc, i.containers, left, func(c map[string]any) error {
		text, _ := c["image"].(string)
		if text == "" {
			return nil
		}
		now, err := swap(text)
		if err == nil {
			c["image"] = now
		}
		return err
	})
}

// reference is the name of an image in its parts.
type reference struct{ registry, repository, tag, digest string }

// parseReference takes an image apart. The part before the first slash is a registry if it has a
// dot or a port, or is localhost.
func parseReference(text string) (r reference) {
	text, r.digest, _ = strings.Cut(text, "@")
	if first, rest, ok := strings.Cut(text, "/"); ok &&
		(strings.ContainsAny(first, ".:") || first == "localhost") {
		r.registry, text = first, rest
	}
	if i := strings.LastIndexByte(text, ':'); i > strings.LastIndexByte(text, '/') {
		text, r.tag = text[:i], text[i+1:]
	}
	r.repository = text
	return r
}

func (r reference) name() string {
	if r.registry == "" {
		return r.repository
	}
	return r.registry + "/" + r.repository
}

// check returns the image, unless its parts make none.
func (r reference) check() (string, error) {
	out := r.name()
	if r.tag != "" {
		out += ":" + r.tag
	}
	if r.digest != "" {
		out += "@" + r.digest
	}
	if r.repository == "" || strings.ContainsAny(out, " \t\n\"'{}") || strings.Contains(r.tag, "/") {
		return "", fmt.Errorf("%.80q is no image", out)
	}
	return out, nil
}

// env is an Env that has been read.
type env struct {
	name       string
	value      *template
	containers []string
}

// apply sets the variable where a container has it, and in every container that is named.
func (e *env) apply(o Object, doc map[string]any, v *Values, left *budget) error {
	text, err := e.value.text(v)
	if err != nil {
		return err
	}
	return containers(o, doc, e.containers, left, func(c map[string]any) error {
		list, _ := c["env"].([]any)
		if err := left.step(lookSteps * len(list)); err != nil {
			return err
		}
		for _, one := range list {
			if m, _ := one.(map[string]any); m != nil && m["name"] == e.name {
				was, _ := m["value"].(string)
				if err := left.add(len(text) - len(was)); err != nil {
					return err
				}
				m["value"] = text
				delete(m, "valueFrom")
				return nil
			}
		}
		if len(e.containers) > 0 {
			if err := left.add(len(e.name) + len(text)); err != nil {
				return err
			}
			c["env"] = append(list, map[string]any{"name": e.name, "value": text})
		}
		return nil
	})
}

// host is a Host that has been read.
type host struct {
	from string
	to   *template
}

// hostPaths are the kinds with hosts, by group and resource, and where they are; * is every element
// of a list.
var hostPaths = map[string][][]string{
	"networking.k8s.io/ingresses":          {{"spec", "rules", "*", "host"}, {"spec", "tls", "*", "hosts", "*"}},
	"extensions/ingresses":                 {{"spec", "rules", "*", "host"}, {"spec", "tls", "*", "hosts", "*"}},
	"route.openshift.io/routes":            {{"spec", "host"}},
	"gateway.networking.k8s.io/httproutes": {{"spec", "hostnames", "*"}},
	"gateway.networking.k8s.io/grpcroutes": {{"spec", "hostnames", "*"}},
	"gateway.networking.k8s.io/tlsroutes":  {{"spec", "hostnames", "*"}},
	"gateway.networking.k8s.io/gateways":   {{"spec", "listeners", "*", "hostname"}},
}

func (h *host) apply(o Object, doc map[string]any, v *Values, left *budget) error {
	for _, path := range hostPaths[o.Key.Group+"/"+o.Key.Resource] {
		if _, err := h.swap(doc, path, v, left); err != nil {
			return err
		}
	}
	return nil
}

// swap changes the hosts at a path, and returns what takes the place of at.
func (h *host) swap(at any, path []string, v *Values, left *budget) (any, error) {
	if len(path) == 0 {
		text, ok := at.(string)
		if !ok {
			return at, nil
		}
		now, err := h.of(text, v)
		if err == nil {
			err = left.add(len(now) - len(text))
		}
		return now, err
	}
	switch below := at.(type) {
	case []any:
		if path[0] != "*" {
			return at, nil
		}
		if err := left.step(len(below)); err != nil {
			return nil, err
		}
		for i, e := range below {
			now, err := h.swap(e, path[1:], v, left)
			if err != nil {
				return nil, err
			}
			below[i] = now
		}
	case map[string]any:
		if next, ok := below[path[0]]; ok {
			now, err := h.swap(next, path[1:], v, left)
			if err != nil {
				return nil, err
			}
			below[path[0]] = now
		}
	}
	return at, nil
}

// of returns what a host becomes. From is a whole host, or an ending that begins with a dot; empty
// is every host.
func (h *host) of(text string, v *Values) (string, error) {
	head := ""
	switch {
	case h.from == "" || h.from == text:
	case strings.HasPrefix(h.from, ".") && strings.HasSuffix(text, h.from):
		head = strings.TrimSuffix(text, h.from)
	default:
		return text, nil
	}
	to, err := h.to.text(v)
	return head + to, err
}
