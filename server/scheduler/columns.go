package scheduler

import (
	"fmt"
	"slices"
	"strings"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// mostListed is how many targets the column TARGETS names; one more is named in place of "and 1 more".
const mostListed = 3

// whereOf names the first targets for kubectl get, which shows one value of a list alone.
func whereOf(targets []v1alpha1.BindingTarget) string {
	names := make([]string, 0, mostListed+1)
	for _, t := range targets[:min(len(targets), mostListed+1)] {
		names = append(names, t.Name)
	}
	if len(targets) > mostListed+1 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:mostListed], ", "), len(targets)-mostListed)
	}
	return strings.Join(names, ", ")
}

// statesOf counts the states of the targets, in the order in which they come first.
func statesOf(targets []v1alpha1.BindingTarget) string {
	var order []v1alpha1.BindingState
	count := map[v1alpha1.BindingState]int{}
	for _, t := range targets {
		if t.State == "" {
			continue
		}
		if count[t.State]++; !slices.Contains(order, t.State) {
			order = append(order, t.State)
		}
	}
	if len(order) == 1 {
		return string(order[0])
	}
	parts := make([]string, 0, len(order))
	for _, s := range order {
		parts = append(parts, fmt.Sprintf("%d %s", count[s], s))
	}
	return strings.Join(parts, ", ")
}
