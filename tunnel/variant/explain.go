package variant

import (
	"maps"
	"slices"
	"strconv"
)

// maxChanges bounds what is told of one Customizer.
const maxChanges = 100

// changes lists the fields that differ, in order.
func changes(by string, was, is map[string]any) (out []Change) {
	var walk func(path pointer, a, b any)
	walk = func(path pointer, a, b any) {
		if len(out) >= maxChanges {
			return
		}
		x, mapX := a.(map[string]any)
		y, mapY := b.(map[string]any)
		if mapX && mapY {
			all := maps.Clone(x)
			maps.Copy(all, y)
			for _, k := range slices.Sorted(maps.Keys(all)) {
				below := append(slices.Clone(path), k)
				va, inA := x[k]
				vb, inB := y[k]
				switch {
				case inA && inB:
					walk(below, va, vb)
				case inA:
					out = append(out, Change{by, below.String(), string(encode(va)), ""})
				default:
					out = append(out, Change{by, below.String(), "", string(encode(vb))})
				}
			}
			return
		}
		m, listA := a.([]any)
		n, listB := b.([]any)
		if listA && listB && len(m) == len(n) {
			for i := range m {
				walk(append(slices.Clone(path), strconv.Itoa(i)), m[i], n[i])
			}
			return
		}
		if !equal(a, b) {
			out = append(out, Change{by, path.String(), string(encode(a)), string(encode(b))})
		}
	}
	walk(nil, was, is)
	return out
}
