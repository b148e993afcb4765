package target

import (
	"fmt"
	"strconv"
	"strings"
)

// Leave makes a delivered body one that does not change a field of the object, given as a JSON
// pointer ("/spec/replicas"). A field of another owner is taken out. A field that is still ours
// gets the object's present value, because an apply without it would remove it.
func (o *Object) Leave(body, live map[string]any, pointer string) error {
	names, err := parsePointer(pointer)
	if err != nil {
		return err
	}
	var at, there any = body, live
	own := o.owned()
	for i, name := range names {
		last := i == len(names)-1
		switch in := at.(type) {
		case map[string]any:
			v, ok := in[name]
			if !ok {
				return nil
			}
			if !own.whole() {
				own = own.below(name)
			}
			have, has := there.(map[string]any)
			if has {
				there, has = have[name], have[name] != nil
			}
			if last {
				settle(in, name, there, own != nil && has)
				return nil
			}
			at = v
			if !has {
				there = nil
			}
		case []any:
			n, err := strconv.Atoi(name)
			if err != nil || n < 0 || n >= len(in) || last {
				return fmt.Errorf("field %s: an element of a list cannot be left to the target, only a field of it", pointer)
			}
			if !own.whole() {
				there, own = sameElement(there, own, in[n]), own.element(in[n])
			} else {
				there = nth(there, n)
			}
			at = in[n]
		default:
			return nil
		}
	}
	return nil
}

func settle(in map[string]any, name string, live any, ours bool) {
	if ours {
		in[name] = live
	} else {
		delete(in, name)
	}
}

// sameElement returns the element of the object's list that has the key of the body's element.
func sameElement(list any, own fields, e any) any {
	all, _ := list.([]any)
	for name := range own {
		key, ok := strings.CutPrefix(name, "k:")
		if !ok || !hasKey(key, e) {
			continue
		}
		for _, v := range all {
			if hasKey(key, v) {
				return v
			}
		}
	}
	return nil
}

func nth(list any, n int) any {
	if all, ok := list.([]any); ok && n < len(all) {
		return all[n]
	}
	return nil
}

// parsePointer splits a JSON pointer (RFC 6901).
func parsePointer(pointer string) ([]string, error) {
	rest, ok := strings.CutPrefix(pointer, "/")
	if !ok || rest == "" {
		return nil, fmt.Errorf("field %q is no JSON pointer, as /spec/replicas is", pointer)
	}
	names := strings.Split(rest, "/")
	for i, n := range names {
		names[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(n)
	}
	if names[0] == "apiVersion" || names[0] == "kind" ||
		names[0] == "metadata" && (len(names) < 3 || names[1] != "labels" && names[1] != "annotations") {
		return nil, fmt.Errorf("field %s names the object, it cannot be left to the target", pointer)
	}
	return names, nil
}
