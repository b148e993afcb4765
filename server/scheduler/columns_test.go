package scheduler

import (
	"testing"

	"skerry.dev/skerry/server/api/v1alpha1"
)

func TestTheColumnsSayAllTargets(t *testing.T) {
	is := func(name string, s v1alpha1.BindingState) v1alpha1.BindingTarget {
		return v1alpha1.BindingTarget{Name: name, State: s}
	}
	a, b, c := is("a", v1alpha1.BindingPlaced), is("b", v1alpha1.BindingPlaced), is("c", v1alpha1.BindingJoining)
	for _, tc := range []struct {
		targets       []v1alpha1.BindingTarget
		where, states string
	}{
		{nil, "", ""},
		{[]v1alpha1.BindingTarget{a}, "a", "Placed"},
		{[]v1alpha1.BindingTarget{a, b, is("x", "")}, "a, b, x", "Placed"},
		{[]v1alpha1.BindingTarget{a, c, b, is("d", v1alpha1.BindingLeft)}, "a, c, b, d", "2 Placed, 1 Joining, 1 Left"},
		{[]v1alpha1.BindingTarget{a, b, c, a, b}, "a, b, c and 2 more", "4 Placed, 1 Joining"},
	} {
		if where, states := whereOf(tc.targets), statesOf(tc.targets); where != tc.where || states != tc.states {
			t.Errorf("%v: %q, %q", tc.targets, where, states)
		}
	}
}
