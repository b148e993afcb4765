package target

import (
	"encoding/json"
	"strings"
)

// NumberAt returns the whole number that a spec has at a JSON pointer below /spec, and whether it has
// one.
func NumberAt(spec json.RawMessage, pointer string) (int64, bool) {
	names, err := parsePointer(pointer)
	if err != nil || len(names) < 2 || !strings.HasPrefix(pointer, "/spec/") {
		return 0, false
	}
	at := spec
	for _, name := range names[1:] {
		var in map[string]json.RawMessage
		if json.Unmarshal(at, &in) != nil {
			return 0, false
		}
		at = in[name]
	}
	var n *int64
	if len(at) == 0 || json.Unmarshal(at, &n) != nil || n == nil {
		return 0, false
	}
	return *n, true
}
