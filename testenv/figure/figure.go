// Package figure prints what was measured, one JSON line a figure.
//
//	took := []time.Duration{...}
//	err := figure.Print(os.Stdout, figure.Line{Figure: "apply-p99", Unit: "ms", N: len(took),
//		Value: figure.Percentile(took, 99), Floor: figure.Of(figure.Percentile(bare, 99))})
//
// A figure with a floor has their ratio, too: {"figure":"apply-p99","value":12,"floor":10,"ratio":1.2}.
// A floor is the same measurement of something simpler in the same run, so that a slow machine changes
// both.
package figure

import (
	"encoding/json"
	"io"
	"math"
	"slices"
	"time"
)

// Line is one figure.
type Line struct {
	Figure string  `json:"figure"`
	Value  float64 `json:"value"`
	Unit   string  `json:"unit"`
	// Floor is the same figure of the floor, in the same unit and the same run.
	Floor *float64 `json:"floor,omitempty"`
	Ratio *float64 `json:"ratio,omitempty"`
	// Goal is what the value is meant to be at most.
	Goal *float64 `json:"goal,omitempty"`
	N    int      `json:"n"`
	Note string   `json:"note,omitempty"`
}

// Print writes one line.
func Print(w io.Writer, f Line) error {
	f.Value = round(f.Value)
	if f.Floor != nil {
		floor := round(*f.Floor)
		ratio := round(f.Value / *f.Floor)
		f.Floor, f.Ratio = &floor, &ratio
	}
	if f.Goal != nil {
		f.Goal = Of(round(*f.Goal))
	}
	return json.NewEncoder(w).Encode(f)
}

func round(v float64) float64 {
	if math.Abs(v) >= 100 {
		return math.Round(v)
	}
	return math.Round(v*100) / 100
}

// Of is a value where it may be absent: a goal, a floor.
func Of(v float64) *float64 { return &v }

// Percentile returns the p-th percentile, in milliseconds.
func Percentile(d []time.Duration, p float64) float64 {
	if len(d) == 0 {
		return math.NaN()
	}
	s := slices.Clone(d)
	slices.Sort(s)
	i := int(math.Ceil(p/100*float64(len(s)))) - 1
	return float64(s[max(0, i)].Microseconds()) / 1000
}

// Median returns the middle of v, NaN of nothing.
func Median(v []float64) float64 {
	s := slices.Clone(v)
	slices.Sort(s)
	if len(s) == 0 {
		return math.NaN()
	}
	return s[len(s)/2]
}
