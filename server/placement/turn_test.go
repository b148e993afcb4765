package placement

import (
	"strings"
	"testing"

	"skerry.dev/skerry/store"
)

func TestTurns(t *testing.T) {
	turn := func(name, to string, change func(*Turn)) Turn {
		one := Turn{Key: store.Key{Space: "shop", Resource: "namespaces", Name: name}, To: to, Objects: 3}
		if change != nil {
			change(&one)
		}
		return one
	}
	names := func(turns []Turn) string {
		var out []string
		for _, one := range turns {
			out = append(out, one.Key.Name)
		}
		return strings.Join(out, " ")
	}
	waiting := []Turn{
		turn("b", "lyon", nil),
		turn("a", "lyon", nil),
		turn("large", "lyon", func(t *Turn) { t.Objects = 9 }),
		turn("single", "lyon", func(t *Turn) { t.Single, t.Objects = true, 1 }),
		turn("copied", "lyon", func(t *Turn) { t.Elsewhere, t.Single = 2, true }),
		turn("oslo", "oslo", func(t *Turn) { t.Single, t.Objects = true, 9 }),
	}
	for _, c := range []struct {
		leaving Leaving
		want    string
		full    string // of a unit that goes to lyon
	}{
		{leaving: Leaving{Limit: 10}, want: "copied a b large single oslo"},
		{leaving: Leaving{Limit: 2}, want: "copied a"},
		{leaving: Leaving{Limit: 10, Units: 8}, want: "copied a"},
		{leaving: Leaving{Limit: 10, Units: 10}, full: "10 units leave paris, as many as spec.drain.maxConcurrent allows"},
		{leaving: Leaving{Limit: 1, Units: 3}, full: "3 units leave paris, as many as spec.drain.maxConcurrent allows"},
		{leaving: Leaving{Limit: 1, Units: 1}, full: "1 unit leaves paris, as many as spec.drain.maxConcurrent allows"},
		{leaving: Leaving{Limit: 10, Units: 4, Arriving: map[string]int{"lyon": 3}}, want: "copied a oslo"},
		{leaving: Leaving{Limit: 10, Arriving: map[string]int{"lyon": 5}}, want: "oslo",
			full: "5 units are on their way to lyon"},
	} {
		if c.leaving.From = "paris"; c.leaving.Arriving == nil {
			c.leaving.Arriving = map[string]int{}
		}
		if c.full != "" {
			c.full = "waits for a turn: " + c.full
		}
		if got := c.leaving.Full(waiting[0]); got != c.full {
			t.Errorf("%+v: it says %q, want %q", c.leaving, got, c.full)
		}
		n := c.leaving.Arriving["lyon"]
		if got := names(c.leaving.Turns(waiting)); got != c.want {
			t.Errorf("%+v: %q may go, want %q", c.leaving, got, c.want)
		}
		if c.leaving.Arriving["lyon"] != n {
			t.Error("what is asked changes what is under way")
		}
	}
}
