package celbound

import (
	"math"

	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"k8s.io/apiserver/pkg/cel/library"
)

// Costs are the costs of calls in Kubernetes, but those of comparisons: they count everything below a
// list or a map, as comparing it takes that long. It implements interpreter.ActualCostEstimator.
type Costs struct{ library.CostEstimator }

// CallCost returns the cost of a call that was made, nil for what CEL says itself.
func (c *Costs) CallCost(function, overload string, args []ref.Val, result ref.Val) *uint64 {
	if len(args) == 2 && (function == operators.Equals || function == operators.NotEquals || function == operators.In) {
		a, b := args[0], args[1]
		switch {
		case !holds(a):
		case function == operators.In:
			cost := below(b)
			return &cost
		case holds(b):
			cost := min(below(a), below(b))
			return &cost
		}
	}
	return c.CostEstimator.CallCost(function, overload, args, result)
}

// holds reports whether a value has others below it.
func holds(v ref.Val) bool {
	switch v.(type) {
	case traits.Lister, traits.Mapper:
		return true
	}
	return false
}

// below counts what a value has below it, texts by their length.
func below(v ref.Val) uint64 {
	switch native := v.Value().(type) {
	case map[string]any, []any:
		return plain(native)
	}
	n := uint64(1)
	switch x := v.(type) {
	case traits.Mapper:
		for i := x.Iterator(); i.HasNext() == types.True; {
			k := i.Next()
			n += below(k) + below(x.Get(k))
		}
	case traits.Lister:
		for i := x.Iterator(); i.HasNext() == types.True; {
			n += below(i.Next())
		}
	case traits.Sizer:
		size, _ := x.Size().Value().(int64)
		n += length(int(size))
	}
	return n
}

// plain is below for decoded JSON and maps of texts, of which no values of CEL are made.
func plain(v any) uint64 {
	n := uint64(1)
	switch x := v.(type) {
	case map[string]any:
		for k, e := range x {
			n += length(len(k)) + plain(e)
		}
	case map[string]string:
		for k, e := range x {
			n += 1 + length(len(k)) + length(len(e))
		}
	case []any:
		for _, e := range x {
			n += plain(e)
		}
	case string:
		n += length(len(x))
	}
	return n
}

func length(n int) uint64 {
	return uint64(math.Ceil(float64(n) * common.StringTraversalCostFactor))
}
