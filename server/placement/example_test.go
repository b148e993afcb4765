package placement_test

import (
	"fmt"

	"skerry.dev/skerry/server/placement"
)

// What is in use and fits is kept; what is missing is chosen among the targets that are connected.
func ExampleChoose() {
	world := placement.World{Targets: []placement.Target{
		{Name: "a", Connected: true}, {Name: "b"}, {Name: "c", Connected: true},
	}}
	wish := placement.Wish{Names: []string{"a", "b", "c"}, Count: 2}
	fmt.Println(placement.Choose(wish, world, []string{"b"}).Targets)

	world.Targets[1].Unschedulable = true // nothing new comes to b; what is there stays
	fmt.Println(placement.Choose(wish, world, []string{"b"}).Targets, placement.Choose(wish, world, nil).Targets)
	// Output:
	// [b a]
	// [b a] [a c]
}
