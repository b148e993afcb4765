package clusterset

import (
	"cmp"
	"slices"
)

// aged is a ServiceExport, and when it was made.
type aged struct {
	since string
	name  name
}

func (a aged) compare(b aged) int {
	if c := cmp.Compare(a.since, b.since); c != 0 {
		return c
	}
	return cmp.Or(cmp.Compare(a.name.namespace, b.name.namespace), cmp.Compare(a.name.service, b.name.service))
}

// ages are ServiceExports, the oldest first. A space may have any number of them: only mostExports count.
type ages []aged

func (a ages) with(one aged) ages {
	i, has := slices.BinarySearchFunc(a, one, aged.compare)
	if has {
		return a
	}
	return slices.Insert(a, i, one)
}

func (a ages) without(one aged) ages {
	if i, has := slices.BinarySearchFunc(a, one, aged.compare); has {
		return slices.Delete(a, i, i+1)
	}
	return a
}

// over reports whether there are mostExports older ones.
func (a ages) over(one aged) bool {
	i, _ := slices.BinarySearchFunc(a, one, aged.compare)
	return i >= mostExports
}
