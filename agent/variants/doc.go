// Package variants keeps the Customizers of spaces and the target's own values, as the desired copy
// has them, and renders what the target gets of an object. tunnel/variant says how.
//
//	rules := variants.New(variants.Config{Desired: sink, Keep: file, Report: observer.Ruled})
//	err := rules.Load()                  // at the start, before anything is applied
//	rules.Note(key)                      // an entry of the copy was committed
//	again, err := rules.Refresh(key)     // reads it, and lists the objects to try again
//	v, err := rules.Render(key, body)    // what the target gets
//	rules.Done(key, why)                 // it is on the target; or why it is not
//
// The life of a Customizer here:
//
//  1. Note marks the rules of its space as old. From then on nothing is rendered with the old ones.
//  2. Refresh lists the objects that the old or the new rules may select. They are tried again;
//     those whose variant is the same are not written.
//  3. Done counts them. When none is left, the report names the Customizer's hash as applied.
//
// Which Customizers there are is kept apart from the copy too. One that the copy has lost is asked
// for again, and until it is there its space waits: ErrUnknown. A Customizer is gone when its
// tombstone says so, and not before.
//
// Lock order: Rules.mu is not held while something is reported.
package variants
