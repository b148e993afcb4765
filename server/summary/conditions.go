package summary

import (
	"slices"
	"sort"

	"skerry.dev/skerry/server/fields"
)

// worstOf merges two lists of conditions by type. Of a type that is good when True, the order is
// False, Unknown, absent, True: it is shown as True only when every target says so. Of a type that
// is bad when True, the order is True, Unknown, False, absent. Of equals the latest transition is
// shown. Of any other type it is Unknown what is worse, so it is shown only where all say the same.
//
// A type that is True at one and absent at another is left out: tools that wait for it go on waiting.
// Where they would take its absence for success, absent makes of the True one what is shown instead;
// nil leaves it out.
func worstOf(of polarities, a, b any, absent func(map[string]any) map[string]any) any {
	x, y := byType(of, a), byType(of, b)
	out := make([]any, 0, len(x)+len(y))
	for _, t := range typesOf(x, y) {
		c := worse(of[t], x[t], y[t])
		if c == nil && absent != nil {
			c = absent(oneOf(x[t], y[t]))
		}
		if c != nil {
			out = append(out, c)
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

func oneOf(a, b map[string]any) map[string]any {
	if a == nil {
		return b
	}
	return a
}

// notToldByAll is the reason of a condition that is True wherever it is told, and is not told
// everywhere.
const notToldByAll = "NotReported"

// untold makes this condition. It is better than every other that is not True, and keeps the latest
// transition, so that the order of merging does not matter.
func untold(c map[string]any) map[string]any {
	out := map[string]any{"type": c["type"], "status": "Unknown", "reason": notToldByAll,
		"message": "not every target has reported it"}
	if t, ok := c["lastTransitionTime"]; ok {
		out["lastTransitionTime"] = t
	}
	return out
}

func isUntold(c map[string]any) bool {
	return c != nil && c["reason"] == notToldByAll && c["status"] == "Unknown"
}

func byType(of polarities, v any) map[string]map[string]any {
	list, _ := v.([]any)
	out := map[string]map[string]any{}
	for _, e := range list {
		if c, ok := e.(map[string]any); ok {
			t := fields.String(c, "type")
			if old := out[t]; old == nil || worse(of[t], old, c) != nil {
				out[t] = pickWorse(of[t], old, c)
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

func pickWorse(p polarity, a, b map[string]any) map[string]any {
	if a == nil {
		return b
	}
	return worse(p, a, b)
}

// worse returns the worse of two conditions of one type; nil stands for an absent one.
func worse(p polarity, a, b map[string]any) map[string]any {
	if p == unsaid && (isDiffering(a) || isDiffering(b) || statusIn(a) != statusIn(b)) {
		return differing(a, b)
	}
	ra, rb := rank(p, a), rank(p, b)
	if isUntold(a) || isUntold(b) {
		if c, ok := withUntold(p, a, b); ok {
			return c
		}
	}
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

// withUntold merges two conditions one of which is untold: with absent, True or another one it stays
// so. It is false where the other one is worse.
func withUntold(p polarity, a, b map[string]any) (map[string]any, bool) {
	if !isUntold(a) {
		a, b = b, a
	}
	if b != nil && !isUntold(b) && rank(p, b) > rank(p, nil) {
		return b, true
	}
	if b == nil || fields.String(a, "lastTransitionTime") >= fields.String(b, "lastTransitionTime") {
		return a, true
	}
	return untold(b), true
}

// statusIn is the status of a condition, empty for an absent one.
func statusIn(c map[string]any) string {
	if c == nil {
		return ""
	}
	if status := fields.String(c, "status"); status == "True" || status == "False" {
		return status
	}
	return "Unknown"
}

func rank(p polarity, c map[string]any) int {
	order := []string{"True", "", "Unknown", "False"}
	if p == bad {
		order = []string{"", "False", "Unknown", "True"}
	}
	return slices.Index(order, statusIn(c))
}
