package catalog

import (
	"sort"
	"strings"
	"unique"
)

// LabelText holds labels as "key=value" lines, interned: many objects have the same. It implements
// labels.Labels.
type LabelText struct{ text unique.Handle[string] }

// LabelsOf packs labels.
func LabelsOf(m map[string]any) LabelText {
	if len(m) == 0 {
		return LabelText{}
	}
	lines := make([]string, 0, len(m))
	for k, v := range m {
		s, _ := v.(string)
		lines = append(lines, k+"="+s)
	}
	sort.Strings(lines)
	return LabelText{unique.Make(strings.Join(lines, "\n"))}
}

// Lookup implements labels.Labels.
func (l LabelText) Lookup(key string) (string, bool) {
	if l == (LabelText{}) {
		return "", false
	}
	rest := l.text.Value()
	for rest != "" {
		var line string
		line, rest, _ = strings.Cut(rest, "\n")
		if strings.HasPrefix(line, key) && len(line) > len(key) && line[len(key)] == '=' {
			return line[len(key)+1:], true
		}
	}
	return "", false
}

// Has implements labels.Labels.
func (l LabelText) Has(key string) bool {
	_, ok := l.Lookup(key)
	return ok
}

// Get implements labels.Labels.
func (l LabelText) Get(key string) string {
	v, _ := l.Lookup(key)
	return v
}
