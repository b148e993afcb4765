package target

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// A container may have two names for one port, or two variables of one name of which the second is made of the
// first. Server-side apply refuses such a list, and no other way to write an object does. The life of one:
//
//  1. An apply is refused. What it would make is asked for, in a dry run, of the object that has each element once.
//  2. The lists are put into the answer as they were, and it is written in the version that the dry run saw.
//  3. Which fields are whose is written as an apply would have left it.

// repeatedList is a list of a container as it was to be applied.
type repeatedList struct {
	pod        []string // where the spec of the Pods is
	containers string
	container  string
	field      string
	list       []any
}

// refusesRepeated reports whether a target refuses an apply for a list that has one key twice.
func refusesRepeated(err error) bool {
	return err != nil && strings.Contains(err.Error(), "duplicate entries for key")
}

// repeatable are the lists of a container that may have a key twice, and the key.
var repeatable = map[string]func(element map[string]any) string{
	"env": func(e map[string]any) string { return fmt.Sprint(e["name"]) },
	"ports": func(e map[string]any) string {
		protocol, _ := e["protocol"].(string)
		return fmt.Sprint(e["containerPort"], "/", cmp.Or(protocol, "TCP"))
	},
}

var podSpecs = [][]string{
	{"spec"}, {"spec", "template", "spec"}, {"spec", "jobTemplate", "spec", "template", "spec"}, {"template", "spec"},
}

// takeRepeated leaves of each element of the Pods of an object one, and returns the lists that had more.
func takeRepeated(o map[string]any) (lists []repeatedList) {
	for _, pod := range podSpecs {
		for _, field := range []string{"initContainers", "containers"} {
			containers, _ := mapAt(o, pod)[field].([]any)
			for _, c := range containers {
				container, _ := c.(map[string]any)
				name, _ := container["name"].(string)
				for _, of := range slices.Sorted(maps.Keys(repeatable)) {
					list, _ := container[of].([]any)
					if once := firstOfEach(list, repeatable[of]); len(once) < len(list) {
						container[of] = once
						lists = append(lists, repeatedList{pod, field, name, of, list})
					}
				}
			}
		}
	}
	return lists
}

func firstOfEach(list []any, key func(map[string]any) string) (once []any) {
	seen := map[string]bool{}
	for _, e := range list {
		element, _ := e.(map[string]any)
		if k := key(element); !seen[k] {
			seen[k] = true
			once = append(once, e)
		}
	}
	return once
}

// putRepeated puts lists back into what an apply made. What the target has added to them follows.
func putRepeated(o map[string]any, lists []repeatedList) {
	for _, l := range lists {
		containers, _ := mapAt(o, l.pod)[l.containers].([]any)
		for _, c := range containers {
			container, _ := c.(map[string]any)
			if container["name"] != l.container {
				continue
			}
			key, ours := repeatable[l.field], map[string]bool{}
			for _, e := range l.list {
				element, _ := e.(map[string]any)
				ours[key(element)] = true
			}
			out := slices.Clone(l.list)
			made, _ := container[l.field].([]any)
			for _, e := range made {
				if element, _ := e.(map[string]any); !ours[key(element)] {
					out = append(out, e)
				}
			}
			container[l.field] = out
		}
	}
}

func mapAt(o map[string]any, path []string) map[string]any {
	for _, field := range path {
		o, _ = o[field].(map[string]any)
	}
	return o
}

// repeatedApply is the apply of an object that was refused for what it repeats.
type repeatedApply struct {
	client          *Client
	resource        Resource
	namespace, name string
	query           url.Values
}

func (a *repeatedApply) path() string { return a.resource.Path(a.namespace, a.name) }

// would is the answer to a dry run of an apply that was refused for what it repeats, with what it repeats.
// Without anything of that the error is refused.
func (a *repeatedApply) would(ctx context.Context, body []byte, refused error) (
	would map[string]any, code int, err error,
) {
	single := map[string]any{}
	if err := json.Unmarshal(body, &single); err != nil {
		return nil, 0, fmt.Errorf("decode desired object: %w", err)
	}
	lists := takeRepeated(single)
	if len(lists) == 0 {
		return nil, 0, refused
	}
	if body, err = json.Marshal(single); err != nil {
		return nil, 0, fmt.Errorf("encode desired object: %w", err)
	}
	query := maps.Clone(a.query)
	query.Set("dryRun", "All")
	if code, err = a.client.call(ctx, http.MethodPatch, a.path(), query, applyType, body, &would); err != nil {
		return nil, code, err
	}
	putRepeated(would, lists)
	return would, code, nil
}

// write writes the object.
func (a *repeatedApply) write(ctx context.Context, body []byte, refused error) (
	raw json.RawMessage, code int, err error,
) {
	would, code, err := a.would(ctx, body, refused)
	if err != nil {
		return nil, code, err
	}
	ours := ourFields(would)
	if code == http.StatusCreated {
		metadata, _ := would["metadata"].(map[string]any)
		for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "generation", "managedFields"} {
			delete(metadata, field)
		}
		if body, err = json.Marshal(would); err != nil {
			return nil, 0, fmt.Errorf("encode %s %s/%s: %w", a.resource, a.namespace, a.name, err)
		}
		all := a.resource.Path(a.namespace, "")
		code, err = a.client.call(ctx, http.MethodPost, all, byAgent(), jsonType, body, &raw)
		if apierrors.IsAlreadyExists(err) {
			of := schema.GroupResource{Group: a.resource.Group, Resource: a.resource.Plural}
			err = apierrors.NewConflict(of, a.name, err)
		}
	} else {
		raw, code, err = a.patch(ctx, map[string]any{"": would})
	}
	if err != nil {
		return nil, code, err
	}
	raw, err = a.own(ctx, ours, raw)
	return raw, code, err
}

func byAgent() url.Values { return url.Values{"fieldManager": {FieldManager}} }

// patch replaces values of the object by their JSON pointers.
func (a *repeatedApply) patch(ctx context.Context, values map[string]any) (raw json.RawMessage, code int, err error) {
	var steps []map[string]any
	for _, at := range slices.Sorted(maps.Keys(values)) {
		steps = append(steps, map[string]any{"op": "replace", "path": at, "value": values[at]})
	}
	body, err := json.Marshal(steps)
	if err != nil {
		return nil, 0, fmt.Errorf("encode a change of %s: %w", a.path(), err)
	}
	code, err = a.client.call(ctx, http.MethodPatch, a.path(), byAgent(), patchType, body, &raw)
	return raw, code, err
}

// patchType is the media type of a JSON patch (RFC 6902).
const patchType = "application/json-patch+json"

// ownTries bounds how often controllers at the target may be faster, which write the status of a new object.
const ownTries = 8

// own has the target record that fields were applied, and not just written, so that the next apply takes
// off what it has no more. The content stays as it is.
func (a *repeatedApply) own(ctx context.Context, ours []any, raw json.RawMessage) (json.RawMessage, error) {
	for try := 0; ; try++ {
		o := map[string]any{}
		if err := json.Unmarshal(raw, &o); err != nil {
			return nil, fmt.Errorf("decode what was written of %s: %w", a.path(), err)
		}
		metadata, _ := o["metadata"].(map[string]any)
		all := slices.Concat(othersFields(metadata), ours)
		next, _, err := a.patch(ctx, map[string]any{
			"/metadata/managedFields": all, "/metadata/resourceVersion": metadata["resourceVersion"],
		})
		if !apierrors.IsConflict(err) || try == ownTries {
			return next, err
		}
		if _, err = a.client.call(ctx, http.MethodGet, a.path(), nil, "", nil, &raw); err != nil {
			return nil, err
		}
	}
}

// ourFields are the entries of managedFields that an agent has, but those of subresources.
func ourFields(o map[string]any) []any {
	metadata, _ := o["metadata"].(map[string]any)
	all, _ := metadata["managedFields"].([]any)
	return slices.DeleteFunc(slices.Clone(all), func(e any) bool { return !isOurs(e) })
}

func othersFields(metadata map[string]any) []any {
	all, _ := metadata["managedFields"].([]any)
	return slices.DeleteFunc(slices.Clone(all), isOurs)
}

func isOurs(entry any) bool {
	e, _ := entry.(map[string]any)
	return e["manager"] == FieldManager && e["subresource"] == nil
}
