package delivery

import (
	"sort"
	"strings"
	"unique"
)

// labelText holds labels as "key=value" lines, interned: many objects have the same. It implements
// labels.Labels.
type labelText struct{ text unique.Handle[string] }

func labelsOf(m map[string]any) labelText {
	if len(m) == 0 {
		return labelText{}
	}
	lines := make([]string, 0, len(m))
	for k, v := range m {
		s, _ := v.(string)
		lines = append(lines, k+"="+s)
	}
	sort.Strings(lines)
	return labelText{unique.Make(strings.Join(lines, "\n"))}
}

// Lookup implements labels.Labels.
func (l labelText) Lookup(key string) (string, bool) {
	if l == (labelText{}) {
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
func (l labelText) Has(key string) bool {
	_, ok := l.Lookup(key)
	return ok
}

// Get implements labels.Labels.
func (l labelText) Get(key string) string {
	v, _ := l.Lookup(key)
	return v
}
