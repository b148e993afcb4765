package placement

import (
	"encoding/json"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// Weight is what a target counts for when replicas are shared out. It is 0 to maxWeight.
type Weight struct {
	Target string `json:"target"`
	Weight int64  `json:"weight"`
}

// maxWeight bounds a weight, so that products with replicas do not overflow.
const maxWeight = 1 << 24

// Divide shares n replicas out in proportion to weights. The shares are in the order of the weights
// and their sum is n; of equal claims the earlier target's comes first. Where all weights are 0 the
// first target has all.
//
// It is the method of Sainte-Laguë: replicas are given one by one, each to the target with the
// largest weight / (2 * share + 1). So one replica more changes one share by one, and a target that
// goes takes nothing away from the others. Largest remainders do not promise this.
func Divide(n int64, weights []Weight) []int64 {
	shares := make([]int64, len(weights))
	if len(weights) == 0 || n <= 0 {
		return shares
	}
	n = min(n, math.MaxInt32)
	var total int64
	for _, w := range weights {
		total += w.Weight
	}
	if total == 0 {
		shares[0] = n
		return shares
	}
	// What each gets at least is given at once. A share s has weight/divisor >= s - 1/2, and the
	// divisor is at most total / (n - targets/2).
	left := n
	for i, w := range weights {
		least := (float64(n)-float64(len(weights))/2)*float64(w.Weight)/float64(total) - 1.5
		shares[i] = max(0, int64(math.Floor(least)))
		left -= shares[i]
	}
	for ; left > 0; left-- {
		best := 0
		for i := range weights {
			if weights[i].Weight*(2*shares[best]+1) > weights[best].Weight*(2*shares[i]+1) {
				best = i
			}
		}
		shares[best]++
	}
	return shares
}

// Division is how the replicas of what a Placement selects are shared out at the moment. It is never
// changed.
type Division struct {
	// Is are the targets that are to have them. Was are those that had them when a move began that
	// has not ended, nil when there is none.
	Is, Was []Weight
	text    string
	started bool
}

// NewDivision returns a Division.
func NewDivision(is, was []Weight) *Division {
	text, err := json.Marshal([2][]Weight{is, was})
	if err != nil {
		return nil // texts and numbers can be encoded
	}
	return &Division{Is: is, Was: was, text: string(text)}
}

// Started is the division of a workload that an autoscaler scales at each target: an autoscaler leaves one without
// replicas alone, so each target begins with one at least, unless it has no weight. It is nil for nil.
func (d *Division) Started() *Division {
	if d == nil {
		return nil
	}
	out := *d
	out.started, out.text = true, d.text+" started"
	return &out
}

// Same reports whether two give the same shares. Both may be nil: nothing is divided.
func (d *Division) Same(o *Division) bool {
	if d == nil || o == nil {
		return d == o
	}
	return d.text == o.text
}

// Shares are how many of n replicas each target has, without those that have none. In a move a
// target that stays has the larger of both shares, so that no replica goes before another is there.
func (d *Division) Shares(n int64) map[string]int64 {
	out := map[string]int64{}
	for _, weights := range [][]Weight{d.Is, d.Was} {
		for i, share := range Divide(n, weights) {
			if name := weights[i].Target; share > out[name] {
				out[name] = share
			}
		}
	}
	for _, w := range d.Is {
		if d.started && n > 0 && w.Weight > 0 {
			out[w.Target] = max(out[w.Target], 1)
		}
	}
	return out
}

// Scales are, by target, the least and the most replicas that an autoscaler may have there, of one that may have so
// many of what is divided. Both are divided as replicas are; no target has less than one, where it may not have none.
func (d *Division) Scales(least, most int64) map[string][2]int64 {
	out, floor := map[string][2]int64{}, min(1, max(0, least))
	lower, upper := d.Shares(least), d.Shares(most)
	for _, weights := range [][]Weight{d.Is, d.Was} {
		for _, w := range weights {
			upTo := max(1, upper[w.Target])
			out[w.Target] = [2]int64{min(max(floor, lower[w.Target]), upTo), upTo}
		}
	}
	return out
}

// Least are, by target, how many Pods must be available there, of a budget that keeps n.
func (d *Division) Least(n int64) map[string]int64 { return d.sharesFrom(n, 0) }

// Unavailables are, by target, how many Pods may be unavailable there at a time, of a budget that lets n be. None is
// 0 where n is not: nodes of a target with no budget at all could never be drained.
func (d *Division) Unavailables(n int64) map[string]int64 { return d.sharesFrom(n, min(1, max(0, n))) }

// sharesFrom are the shares of n of all targets. None is less than floor.
func (d *Division) sharesFrom(n, floor int64) map[string]int64 {
	out := d.Shares(n)
	for _, weights := range [][]Weight{d.Is, d.Was} {
		for _, w := range weights {
			out[w.Target] = max(out[w.Target], floor)
		}
	}
	return out
}

// Basis is a v1alpha1.Division, compiled. The zero value weighs all targets alike.
type Basis struct {
	allocatable bool
	weights     []targetWeight
}

type targetWeight struct {
	selector labels.Selector // nil matches all
	names    []string        // empty for all
	weight   int64
}

func compileBasis(d *v1alpha1.Division) (*Basis, error) {
	b := &Basis{}
	if d == nil {
		return b, nil
	}
	b.allocatable = d.By == v1alpha1.DivisionByAllocatable
	for _, w := range d.Weights {
		s, err := optional(w.Selector)
		if err != nil {
			return nil, err
		}
		b.weights = append(b.weights, targetWeight{s, w.Names, int64(w.Weight)})
	}
	return b, nil
}

// Of is the weight of a target by its labels and by what it has allocatable.
func (b *Basis) Of(name string, of labels.Set, allocatable corev1.ResourceList) Weight {
	w := Weight{Target: name, Weight: 1}
	if b.allocatable {
		cpu := allocatable[corev1.ResourceCPU]
		w.Weight = coarse(cpu.MilliValue())
		return w
	}
	for _, one := range b.weights {
		if (one.selector == nil || one.selector.Matches(of)) &&
			(len(one.names) == 0 || slices.Contains(one.names, name)) {
			w.Weight = one.weight
			break
		}
	}
	return w
}

// weighsNothing reports whether each target of a wish has weight 0, whichever targets there are.
func (b *Basis) weighsNothing(w Wish) bool {
	zero := b.weights
	if i := slices.IndexFunc(zero, func(one targetWeight) bool { return one.weight != 0 }); i >= 0 {
		zero = zero[:i]
	}
	all := func(s labels.Selector) bool { return s == nil || s.Empty() }
	for _, name := range w.Names {
		if !slices.ContainsFunc(zero, func(one targetWeight) bool {
			return all(one.selector) && (len(one.names) == 0 || slices.Contains(one.names, name))
		}) {
			return false
		}
	}
	for _, s := range w.Selectors {
		if !slices.ContainsFunc(zero, func(one targetWeight) bool {
			return len(one.names) == 0 && (all(one.selector) || one.selector.String() == s.String())
		}) {
			return false
		}
	}
	return !w.Nowhere()
}

// step is the ratio of the steps of coarse.
const step = 1.25

// coarse rounds to a power of step, so that a small change makes no difference. What has nothing, or
// does not say what it has, counts as little as possible, and gets replicas all the same where no
// other has more.
func coarse(milliCPU int64) int64 {
	if milliCPU <= 0 {
		return 0
	}
	exponent := math.Round(math.Log(float64(milliCPU)) / math.Log(step))
	return int64(min(maxWeight, max(1, math.Round(math.Pow(step, exponent)))))
}
