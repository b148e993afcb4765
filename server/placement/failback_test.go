package placement

import (
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/labels"
)

// backWorld has targets of these names, which are preferred in this order and have been back for so long.
func backWorld(names string, back map[string]time.Duration, change map[string]func(*Target)) (Wish, World) {
	wish := Wish{Selectors: []labels.Selector{labels.Everything()}, Count: 1, Failback: 10 * time.Minute,
		Constraints: &Constraints{}}
	world := vacateWorld(change, strings.Fields(names)...)
	for i, t := range world.Targets {
		wish.Constraints.preferences = append(wish.Constraints.preferences, preference{
			weight: int64(10 - i), selector: labels.SelectorFromSet(t.Labels),
		})
		world.Targets[i].BackSince = noon.Add(-time.Hour)
		if since, ok := back[t.Name]; ok {
			world.Targets[i].BackSince = noon.Add(-since)
		}
	}
	return wish, world
}

func TestFailback(t *testing.T) {
	type changes = map[string]func(*Target)
	for name, c := range map[string]struct {
		names, current string
		back           map[string]time.Duration
		change         changes
		count          int
		never          bool
		want           string
		next           time.Duration
	}{
		"to the best":        {names: "a b c", current: "c", want: "a"},
		"nothing is better":  {names: "a b", current: "a", want: "a"},
		"nobody asks for it": {names: "a b", current: "b", never: true, want: "b"},
		"not back for long":  {names: "a b", current: "b", back: map[string]time.Duration{"a": time.Minute}, want: "b", next: 9 * time.Minute},
		"to the second meanwhile": {names: "a b c", current: "c", back: map[string]time.Duration{"a": time.Minute}, want: "b",
			next: 9 * time.Minute},
		"the best is cordoned":   {names: "a b c", current: "c", change: changes{"a": cordoned}, want: "b"},
		"the best is drained":    {names: "a b", current: "b", change: changes{"a": drained}, want: "b"},
		"the best is away":       {names: "a b", current: "b", change: changes{"a": away(time.Hour, time.Minute)}, want: "b"},
		"half of all is away":    {names: "a b c d", current: "b", change: changes{"c": off2, "d": off2, "b": off2}, want: "b"},
		"one at a time":          {names: "a b c d", current: "c d", count: 2, want: "c a"},
		"one that is drained":    {names: "a b c", current: "b c", count: 2, change: changes{"b": drained}, want: "c a"},
		"the drained goes first": {names: "a b c", current: "c b", count: 2, change: changes{"c": drained}, want: "b a"},
	} {
		t.Run(name, func(t *testing.T) {
			wish, world := backWorld(c.names, c.back, c.change)
			wish.Count = max(1, c.count)
			if c.never {
				wish.Failback = 0
			}
			current := strings.Fields(c.current)
			v := Vacate(wish, world, current, Terms{}, noon)
			if strings.Join(v.Targets, " ") != c.want {
				t.Errorf("chosen %v, want %s: %+v", v.Targets, c.want, v)
			}
			var next time.Duration
			if !v.Next.IsZero() {
				next = v.Next.Sub(noon)
			}
			if next != c.next {
				t.Errorf("next in %s, want %s", next, c.next)
			}
			if len(v.Stays) > 0 {
				t.Errorf("it says that it cannot leave: %v", v.Stays)
			}
		})
	}
}

func off2(t *Target) { t.Connected, t.AwaySince = false, noon.Add(-time.Minute) }

// Whatever is preferred, it comes to rest, on the best targets.
func TestFailbackComesToRest(t *testing.T) {
	wish, world := backWorld("a b c d e", nil, nil)
	wish.Count = 3
	current, steps := []string{"c", "d", "e"}, 0
	for ; steps < 10; steps++ {
		v := Vacate(wish, world, current, Terms{}, noon)
		if slices.Equal(v.Targets, current) {
			break
		}
		if len(without(v.Targets, current)) != 1 {
			t.Fatalf("from %v to %v at once", current, v.Targets)
		}
		if l := v.Left; len(l) != 1 || l[0].Filter != Filter(LeaveFailback) || l[0].Message == "" {
			t.Fatalf("left %+v", l)
		}
		if during := Vacate(wish, world, Union(current, v.Targets), Terms{}, noon); !Same(during.Targets, v.Targets) {
			t.Fatalf("from %v to %v, and on the way to %v", current, v.Targets, during.Targets)
		}
		current = v.Targets
	}
	slices.Sort(current)
	if strings.Join(current, "") != "abc" || steps != 2 {
		t.Errorf("after %d steps %v", steps, current)
	}
}

func TestFailbackSeesLabels(t *testing.T) {
	wish, world := backWorld("a b", nil, nil)
	before := world.Targets[0]
	now := before
	now.Labels = labels.Set{"name": "other"}
	if !wish.Affects(world, before, now) {
		t.Error("a target that is preferred no more changes nothing")
	}
	wish.Failback = 0
	if wish.Affects(world, before, now) {
		t.Error("a score alone changes something")
	}
}

// An earlier group comes before every preference: nothing leaves it for a target that is only preferred, and what is
// in a later one goes back to it.
func TestFailbackInGroups(t *testing.T) {
	for name, c := range map[string]struct {
		current, want string
		back          map[string]time.Duration
		change        map[string]func(*Target)
	}{
		"stays in the first group":            {current: "d", want: "d"},
		"back to the first group":             {current: "b", want: "d"},
		"over two groups":                     {current: "a", want: "d"},
		"to the second group meanwhile":       {current: "a", want: "b", back: map[string]time.Duration{"d": time.Minute}},
		"the first group is away":             {current: "c", want: "b", change: map[string]func(*Target){"d": cordoned}},
		"by preference within a group":        {current: "e", want: "d"},
		"the last group has one that is best": {current: "b", want: "b", change: map[string]func(*Target){"d": cordoned, "e": cordoned}},
	} {
		t.Run(name, func(t *testing.T) {
			wish, world := backWorld("a b c d e", c.back, c.change)
			for _, names := range []string{"d e", "b"} {
				in, err := labels.Parse("name in (" + strings.ReplaceAll(names, " ", ",") + ")")
				if err != nil {
					t.Fatal(err)
				}
				wish.Constraints.groups = append(wish.Constraints.groups, in)
			}
			if c.change["d"] != nil {
				cordoned(&world.Targets[4])
			}
			if c.back["d"] != 0 {
				world.Targets[4].BackSince = noon.Add(-time.Minute)
			}
			if v := Vacate(wish, world, []string{c.current}, Terms{}, noon); strings.Join(v.Targets, " ") != c.want {
				t.Errorf("chosen %v, want %s: %+v", v.Targets, c.want, v)
			}
		})
	}
}

// A target that comes into an earlier group, without any preference, wakes what may go back to it.
func TestFailbackSeesGroups(t *testing.T) {
	wish, world := backWorld("a b", nil, nil)
	wish.Constraints.preferences = nil
	own, err := labels.Parse("own")
	if err != nil {
		t.Fatal(err)
	}
	wish.Constraints.groups = []labels.Selector{own}
	before := world.Targets[0]
	now := before
	now.Labels = labels.Set{"name": "a", "own": ""}
	if !wish.Affects(World{Targets: world.Targets}, before, now) {
		t.Error("nobody is woken")
	}
}
