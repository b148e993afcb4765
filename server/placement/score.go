package placement

import corev1 "k8s.io/api/core/v1"

// A score counts in thousandths of a weight, so that the free share of a resource is whole numbers.
const wholeWeight = 1000

// score is how good a target is by the preferences.
func (c *Constraints) score(t *Target) (sum int64) {
	if c == nil {
		return 0
	}
	for i := range c.preferences {
		p := &c.preferences[i]
		switch {
		case p.selector != nil && p.selector.Matches(t.Labels):
			sum += p.weight * wholeWeight
		case p.free != "" && t.Facts != nil:
			sum += p.weight * t.Facts.freeShare(corev1.ResourceName(p.free))
		}
	}
	return sum
}

// freeShare is how much of a resource is free, in thousandths of what is allocatable. Of a target
// that does not tell what is allocated everything counts as free.
func (f *Facts) freeShare(name corev1.ResourceName) int64 {
	all, ok := f.Allocatable[name]
	if !ok || all.Sign() <= 0 {
		return 0
	}
	whole := all.AsApproximateFloat64()
	used, ok := f.Allocated[name]
	if !ok {
		return wholeWeight
	}
	free := (whole - used.AsApproximateFloat64()) / whole
	return int64(max(0, min(1, free)) * wholeWeight)
}

// better orders targets that pass all filters: the connected before the others, those with sites before
// relays without one, then by group, by score, by how few workloads have Pods that they refuse, by how few objects
// they have, and by name.
func better(a, b *candidate) bool {
	switch {
	case a.target.Connected != b.target.Connected:
		return a.target.Connected
	case a.target.Empty != b.target.Empty:
		return b.target.Empty
	case a.group != b.group:
		return a.group < b.group
	case a.score != b.score:
		return a.score > b.score
	case a.target.Refuses.Workloads != b.target.Refuses.Workloads:
		return a.target.Refuses.Workloads < b.target.Refuses.Workloads
	case a.target.Objects != b.target.Objects:
		return a.target.Objects < b.target.Objects
	default:
		return a.target.Name < b.target.Name
	}
}
