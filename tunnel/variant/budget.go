package variant

import (
	"errors"
	"fmt"

	"skerry.dev/skerry/store"
)

const (
	// maxAdded is how many bytes the Customizers of a space may add to one object, also if others of
	// them take it away again.
	maxAdded = 4 * store.MaxBodyBytes
	// maxSteps is how many elements of lists, containers and variables they may go through or move:
	// some tenths of a second.
	maxSteps = 8 << 20
	// lookSteps is how many steps it counts for to look into an element for its name.
	lookSteps = 8
	// maxDepth is how deep an object may be nested after a Customizer has changed it.
	maxDepth = 1000
)

// budget is what is left of that. Customizers are written by users, and the agent that renders them
// works for all spaces.
type budget struct{ bytes, steps int }

func newBudget() *budget { return &budget{maxAdded, maxSteps} }

var (
	errGrows = fmt.Errorf("the Customizers add more than %d bytes to the object: put in less, or into fewer places",
		maxAdded)
	errSteps = errors.New("the Customizers go through the lists of the object too often: use fewer operations, " +
		"or split the object into several")
	errDeep = fmt.Errorf("the object is nested more than %d times", maxDepth)
)

// add takes n bytes.
func (b *budget) add(n int) error {
	if b.bytes -= max(n, 0); b.bytes < 0 {
		return errGrows
	}
	return nil
}

// step takes n steps.
func (b *budget) step(n int) error {
	if b.steps -= n; b.steps < 0 {
		return errSteps
	}
	return nil
}

// deeper reports whether a value is nested more than limit times.
func deeper(v any, limit int) bool {
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			if limit == 0 || deeper(e, limit-1) {
				return true
			}
		}
	case []any:
		for _, e := range v {
			if limit == 0 || deeper(e, limit-1) {
				return true
			}
		}
	}
	return false
}
