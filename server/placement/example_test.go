package placement_test

import (
	"fmt"

	"skerry.dev/skerry/server/placement"
)

// A group moves from one target to another: it is on both until the new one has an available copy.
func ExampleNext() {
	state := placement.State{Current: []string{"a"}, Wanted: []string{"b"}}
	show := func(s placement.Step) { fmt.Println(s.Decision, s.Phase, s.Message) }

	step := placement.Next(state)
	show(step)

	state.Current = step.Decision
	state.NotReady = map[string]string{"b": "deployments/web: 0 of 3 are available"}
	show(placement.Next(state))

	state.NotReady = nil
	step = placement.Next(state)
	show(step)

	state.Current = step.Decision
	show(placement.Next(state))
	// Output:
	// [a b] Starting from a to b
	// [a b] Waiting a is kept until b is ready: deployments/web: 0 of 3 are available
	// [b] Finishing ready on b, leaving a
	// [b] Settled
}
