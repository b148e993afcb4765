package tunnel

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// A parent takes of what a relay says about the sites below it so much and no more, in words that
// it can store and show.
func TestBelowIsBounded(t *testing.T) {
	good := Trouble{Path: "fjord/vik", Type: CenterTrusted, Reason: CenterRegressed}
	for _, c := range []struct {
		what       string
		said, want *SubtreeStatus
	}{
		{"nothing", nil, nil},
		{"no site in trouble", &SubtreeStatus{}, &SubtreeStatus{}},
		{"fewer than none", &SubtreeStatus{Troubled: -1}, nil},
		{"one", &SubtreeStatus{Troubled: 1, First: []Trouble{good}}, &SubtreeStatus{Troubled: 1, First: []Trouble{good}}},
		{"more names than sites", &SubtreeStatus{Troubled: 1, First: []Trouble{good, good}},
			&SubtreeStatus{Troubled: 1, First: []Trouble{good}}},
		{"what is no name", &SubtreeStatus{Troubled: 5,
			First: []Trouble{{"a b", CenterTrusted, "X"}, {"../a", CenterTrusted, "X"}, good,
				{"", CenterTrusted, "X"}, {"A", CenterTrusted, "X"}}},
			&SubtreeStatus{Troubled: 5, First: []Trouble{good}}},
		{"what are no words", &SubtreeStatus{Troubled: 4,
			First: []Trouble{{"a", "skerry target accept", "X"}, {"a", "", "X"}, {"a", CenterTrusted, "run: rm"}, good}},
			&SubtreeStatus{Troubled: 4, First: []Trouble{good}}},
		{"how many are connected", &SubtreeStatus{
			Reach: &SubtreeReach{3, 1, []SiteAway{{"oslo", 7}, {"a b", 7}, {"vik", -1}}}},
			&SubtreeStatus{Reach: &SubtreeReach{3, 1, []SiteAway{{"oslo", 7}}}}},
		{"more away than there are", &SubtreeStatus{
			Reach: &SubtreeReach{2, 1, []SiteAway{{"oslo", 7}, {"vik", 8}}}},
			&SubtreeStatus{Reach: &SubtreeReach{2, 1, []SiteAway{{"oslo", 7}}}}},
		{"times that cannot be", &SubtreeStatus{
			Reach: &SubtreeReach{2, 0, []SiteAway{{"oslo", latest + 1}, {"vik", latest}}}},
			&SubtreeStatus{Reach: &SubtreeReach{2, 0, []SiteAway{{"vik", latest}}}}},
		{"more connected than there are", &SubtreeStatus{Reach: &SubtreeReach{1, 2, nil}}, &SubtreeStatus{}},
		{"fewer connected than none", &SubtreeStatus{Reach: &SubtreeReach{1, -1, nil}}, &SubtreeStatus{}},
		{"more than can be", &SubtreeStatus{Reach: &SubtreeReach{1 << 31, 0, nil}}, &SubtreeStatus{}},
		{"more in trouble than can be", &SubtreeStatus{Troubled: 1 << 31}, nil},
		{"a number that hides those of others in a sum", &SubtreeStatus{Reach: &SubtreeReach{1<<31 - 1, 0, nil}},
			&SubtreeStatus{}},
		{"a long way", &SubtreeStatus{Troubled: 1,
			First: []Trouble{{strings.Repeat("a/", maxTroublePath/2) + "a", CenterTrusted, "X"}}}, &SubtreeStatus{Troubled: 1}},
	} {
		got, _ := ChildStatus{Subtree: c.said}.bounded()
		if !reflect.DeepEqual(got.Subtree, c.want) {
			t.Errorf("%s: %+v, want %+v", c.what, got.Subtree, c.want)
		}
	}
	many := &SubtreeStatus{Troubled: 1000, Reach: &SubtreeReach{Targets: 1000}}
	for i := range 1000 {
		many.Reach.Away = append(many.Reach.Away, SiteAway{fmt.Sprint("site-", i), int64(i)})
		many.First = append(many.First, Trouble{fmt.Sprint("site-", i), ClockInSync, "Behind"})
	}
	if got := many.bounded(); got.Troubled != 1000 || len(got.First) != MaxTroubles ||
		len(got.Reach.Away) != MaxTroubles {
		t.Errorf("of a thousand %d were taken, %d named", got.Troubled, len(got.First))
	}
}

// What is below is told beside the conditions, and again only when it is something else.
func TestOverlook(t *testing.T) {
	var c Conditions
	say := func(n int) *SubtreeStatus {
		return &SubtreeStatus{Troubled: n, First: []Trouble{{"oslo", CenterTrusted, CenterRegressed}}[:min(n, 1)]}
	}
	reach := func(connected int, since int64) *SubtreeStatus {
		return &SubtreeStatus{Reach: &SubtreeReach{2, connected, []SiteAway{{"vik", since}}}}
	}
	for i, step := range []struct {
		say  *SubtreeStatus
		news bool
	}{{nil, false}, {say(0), true}, {say(0), false}, {say(1), true}, {say(1), false}, {say(2), true},
		{reach(1, 5), true}, {reach(1, 5), false}, {reach(0, 5), true}, {reach(0, 6), true}, {nil, true}} {
		_, changed := c.All()
		c.ReportSubtree(step.say)
		told := false
		select {
		case <-changed:
			told = true
		default:
		}
		if said, _ := c.All(); told != step.news || !reflect.DeepEqual(said.Subtree, step.say) {
			t.Errorf("step %d: told %t, %+v", i, told, said.Subtree)
		}
	}
}
