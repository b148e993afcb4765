package collect

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// group is all contributions with the same texts.
type group struct {
	texts  []string
	count  int64
	values []value
}

// value is what many numbers come to. Two make one, in any order.
type value struct{ sum, min, max float64 }

// fold makes the result of contributions.
func (p *program) fold(name string, all func(yield func(*contribution) bool)) v1alpha1.CombinedResult {
	out := v1alpha1.CombinedResult{Name: name, ColumnNames: p.columns}
	var rows []row
	if len(p.spec.Select) > 0 {
		for c := range all {
			rows = append(rows, row{texts: c.texts})
		}
	} else {
		rows = p.groups(all)
	}
	slices.SortFunc(rows, p.compare)
	if n := len(rows) - p.limit; n > 0 {
		rows, out.Omitted = rows[:p.limit], int64(n)
	}
	for _, r := range rows {
		line := slices.Clone(r.texts)
		for _, n := range r.numbers {
			line = append(line, decimal(n))
		}
		out.Rows = append(out.Rows, line)
	}
	return out
}

// row is one line before it is cut to the limit.
type row struct {
	texts   []string
	numbers []float64
}

func (p *program) groups(all func(yield func(*contribution) bool)) (rows []row) {
	groups := map[string]*group{}
	if len(p.texts) == 0 {
		groups[""] = &group{values: make([]value, len(p.numbers))} // a count of nothing is 0
	}
	for c := range all {
		key := strings.Join(c.texts, "\x00")
		g := groups[key]
		if g == nil {
			g = &group{texts: c.texts, values: make([]value, len(p.numbers))}
			groups[key] = g
		}
		for i, n := range c.numbers {
			v := &g.values[i]
			if g.count == 0 {
				v.min, v.max = n, n
			}
			v.sum, v.min, v.max = v.sum+n, min(v.min, n), max(v.max, n)
		}
		g.count++
	}
	for _, g := range groups {
		r := row{texts: g.texts}
		for i, n := range p.numbers {
			r.numbers = append(r.numbers, g.values[i].as(n.kind, g.count))
		}
		rows = append(rows, r)
	}
	return rows
}

func (v value) as(kind v1alpha1.CombineType, count int64) float64 {
	switch kind {
	case v1alpha1.CombineMin:
		return v.min
	case v1alpha1.CombineMax:
		return v.max
	case v1alpha1.CombineAvg:
		return v.sum / float64(max(count, 1))
	}
	return v.sum // a COUNT is a sum of ones
}

// compare orders rows: by the column of OrderBy, then by their texts.
func (p *program) compare(a, b row) int {
	first := 0
	switch n := p.order - len(p.texts); {
	case p.order < 0:
	case n >= 0:
		first = cmp.Compare(b.numbers[n], a.numbers[n])
	default:
		first = compareTexts(b.texts[p.order], a.texts[p.order])
	}
	if p.spec.Ascending {
		first = -first
	}
	return cmp.Or(first, slices.CompareFunc(a.texts, b.texts, compareTexts))
}

// compareTexts compares numbers as numbers. They come before other texts.
func compareTexts(a, b string) int {
	x, okX := number(a)
	y, okY := number(b)
	switch {
	case okX && okY:
		return cmp.Or(cmp.Compare(x, y), strings.Compare(a, b))
	case okX:
		return -1
	case okY:
		return 1
	}
	return strings.Compare(a, b)
}

// number reads a text that decimal has written.
func number(text string) (float64, bool) {
	n, err := strconv.ParseFloat(text, 64)
	return n, err == nil && n == n // NaN is a text
}
