package summary

import (
	"sort"
	"strings"

	"skerry.dev/skerry/server/fields"
)

// worstOf merges two lists of conditions by type. Of a type that is good when True, the order is
// False, Unknown, absent, True: it is shown as True only when every target says so. Of a type that
// is bad when True, the order is True, Unknown, False, absent. Of equals the latest transition is
// shown.
func worstOf(a, b any) any {
	x, y := byType(a), byType(b)
	out := make([]any, 0, len(x)+len(y))
	for _, t := range typesOf(x, y) {
		if c := worse(t, x[t], y[t]); c != nil {
			out = append(out, c)
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

func byType(v any) map[string]map[string]any {
	list, _ := v.([]any)
	out := map[string]map[string]any{}
	for _, e := range list {
		if c, ok := e.(map[string]any); ok {
			t := fields.String(c, "type")
			if old := out[t]; old == nil || worse(t, old, c) != nil {
				out[t] = pickWorse(t, old, c)
			}
		}
	}
	return out
}

func typesOf(x, y map[string]map[string]any) []string {
	var out []string
	for t := range x {
		out = append(out, t)
	}
	for t := range y {
		if _, both := x[t]; !both {
			out = append(out, t)
		}
	}
	sort.Strings(out)
	return out
}

func pickWorse(t string, a, b map[string]any) map[string]any {
	if a == nil {
		return b
	}
	return worse(t, a, b)
}

// worse returns the worse of two conditions of one type; nil stands for an absent one.
func worse(t string, a, b map[string]any) map[string]any {
	ra, rb := rank(t, a), rank(t, b)
	switch {
	case ra > rb:
		return a
	case rb > ra:
		return b
	case a == nil:
		return nil
	}
	ta := fields.String(a, "lastTransitionTime")
	tb := fields.String(b, "lastTransitionTime")
	if ta > tb || ta == tb && string(encode(a)) >= string(encode(b)) {
		return a
	}
	return b
}

func rank(t string, c map[string]any) int {
	status := ""
	if c != nil {
		status = fields.String(c, "status")
		if status != "True" && status != "False" {
			status = "Unknown"
		}
	}
	order := []string{"True", "", "Unknown", "False"}
	if badWhenTrue(t) {
		order = []string{"", "False", "Unknown", "True"}
	}
	for i, s := range order {
		if s == status {
			return i
		}
	}
	return len(order)
}

// badWhenTrue tells the polarity of a condition's type by the names that are in use.
func badWhenTrue(t string) bool {
	for _, word := range []string{
		"Fail",
		"Error",
		"Stalled",
		"Degraded",
		"Pressure",
		"Disruption",
		"Conflict",
		"Unavailable",
		"Suspended",
		"Terminating",
		"Deleting",
		"Reconciling",
		"Moving",
		"Limited",
	} {
		if strings.Contains(t, word) {
			return true
		}
	}
	return false
}
