package tunnel

import (
	"path"
	"slices"
)

// Opened is which spaces may have rights, and webhooks, at the sites below a relay: patterns of
// names, as in Allow.
type Opened struct {
	Controllers        []string `json:"controllers,omitempty"`
	ClusterControllers []string `json:"clusterControllers,omitempty"`
	Webhooks           []string `json:"webhooks,omitempty"`
}

// Equal reports whether o and other open the same.
func (o Opened) Equal(other Opened) bool {
	return slices.Equal(o.Controllers, other.Controllers) &&
		slices.Equal(o.ClusterControllers, other.ClusterControllers) &&
		slices.Equal(o.Webhooks, other.Webhooks)
}

// Add opens what another one opens, too. Its lists are sorted then.
func (o *Opened) Add(other Opened) {
	for _, list := range []struct {
		to   *[]string
		from []string
	}{
		{&o.Controllers, other.Controllers}, {&o.ClusterControllers, other.ClusterControllers},
		{&o.Webhooks, other.Webhooks},
	} {
		all := slices.Concat(*list.to, list.from)
		slices.Sort(all)
		*list.to = slices.Compact(all)
	}
}

// bounded returns what a parent accepts of o.
func (o Opened) bounded() Opened {
	boundLists(&o.Controllers, &o.ClusterControllers, &o.Webhooks)
	return o
}

// Matches reports whether a name matches one of the patterns, where '*' stands for any part.
func Matches(name string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		ok, err := path.Match(p, name)
		return ok && err == nil || p == "*"
	})
}

// Intersect keeps the patterns that the other list allows, and those of the other list that this one
// allows. Patterns of which neither contains the other leave nothing.
func Intersect(a, b []string) (out []string) {
	for _, p := range a {
		if Matches(p, b) {
			out = append(out, p)
		}
	}
	for _, p := range b {
		if Matches(p, a) && !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}
