package walk

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// differing says in which fields two versions of an object differ, with what each has there.
func differing(before, after json.RawMessage) string {
	var a, b map[string]any
	if json.Unmarshal(before, &a) != nil || json.Unmarshal(after, &b) != nil {
		return "what cannot be read"
	}
	var out []string
	compareFields(a, b, "", &out)
	return strings.Join(out, "; ")
}

func compareFields(a, b map[string]any, path string, out *[]string) {
	names := maps.Clone(a)
	if names == nil {
		names = map[string]any{}
	}
	maps.Copy(names, b)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		x, isMap := a[name].(map[string]any)
		y, both := b[name].(map[string]any)
		switch at := path + "." + name; {
		case isMap && both:
			compareFields(x, y, at, out)
		case !reflect.DeepEqual(a[name], b[name]):
			*out = append(*out, fmt.Sprintf("%s was %v, is %v", at, a[name], b[name]))
		}
	}
}
