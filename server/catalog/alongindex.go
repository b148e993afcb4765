package catalog

import (
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"skerry.dev/skerry/server/placement"
)

// followers indexes the leaders and the followers of a namespace. A follower that selects by labels has one
// line of its selector in byLine, the one that the fewest have, and the empty line where it has none. Pods
// have all their lines in pods, and the empty one. One that selects all is in whole alone.
type followers struct {
	byLine, pods map[string]objects
	byName       map[placement.ObjectName]objects
	whole        whole
}

func put[K comparable](in *map[K]objects, k K, o *Object) {
	if *in == nil {
		*in = map[K]objects{}
	}
	s := (*in)[k]
	s.add(o)
	(*in)[k] = s
}

func drop[K comparable](in map[K]objects, k K, o *Object) {
	s := in[k]
	if s.remove(o); s.len() == 0 {
		delete(in, k)
		return
	}
	in[k] = s
}

// lines are the labels, and the empty line.
func (l LabelText) lines() []string {
	if l == (LabelText{}) {
		return []string{""}
	}
	return append(strings.Split(l.text.Value(), "\n"), "")
}

// linesOf are the lines that all labels have which a selector matches.
func linesOf(s labels.Selector) (out []string) {
	requirements, _ := s.Requirements()
	for _, r := range requirements {
		if value, exact := s.RequiresExactMatch(r.Key()); exact {
			out = append(out, r.Key()+"="+value)
		}
	}
	return out
}

// ofPods visits the followers that select pods, besides those that select all.
func (x *followers) ofPods(pods LabelText, visit func(*Object)) {
	for _, line := range pods.lines() {
		for f := range x.byLine[line].all() {
			if f.Ties.of.Selector.Matches(pods) {
				visit(f)
			}
		}
	}
}

// ofName visits the followers that name an object of a kind.
func (x *followers) ofName(k *Kind, name string, visit func(*Object)) {
	for f := range x.byName[placement.ObjectName{Group: k.Group, Kind: k.Name, Name: name}].all() {
		if leads(k, f.Ties.of) {
			visit(f)
		}
	}
}

// selected visits what has pods that a selector matches.
func (x *followers) selected(s labels.Selector, visit func(*Object)) {
	least := x.pods[""]
	for _, line := range linesOf(s) {
		if some := x.pods[line]; some.len() < least.len() {
			least = some
		}
	}
	for o := range least.all() {
		if s.Matches(o.Ties.pods) {
			visit(o)
		}
	}
}
