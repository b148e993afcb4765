package tunnel

import (
	"reflect"
	"strings"
	"testing"
)

// A parent takes a bounded list of known conditions, each in a form that Kubernetes stores.
func TestConditionsAreBounded(t *testing.T) {
	good := Condition{Type: ClockInSync, Status: False, Reason: "Behind", Message: "an hour"}
	long := Condition{
		Type:    TargetReachable,
		Status:  Unknown,
		Reason:  "Asking",
		Message: strings.Repeat("ü", maxConditionMessage),
	}
	list := []Condition{
		good,
		{Type: "Connected", Status: False, Reason: "Forged"},
		{Type: ClockInSync, Status: True, Reason: "Twice"},
		{Type: CenterTrusted, Status: "Maybe", Reason: "Known"},
		{Type: CenterTrusted, Status: True, Reason: ""},
		{Type: CenterTrusted, Status: True, Reason: "no CamelCase"},
		{Type: CenterTrusted, Status: True, Reason: strings.Repeat("A", maxConditionReason+1)},
		long,
	}
	kept, dropped := bounded(list)
	if len(kept) != 2 || kept[0] != good || dropped != 6 {
		t.Fatalf("kept %+v, dropped %d", kept, dropped)
	}
	if m := kept[1].Message; len(m) > maxConditionMessage || strings.Trim(m, "ü") != "" ||
		len(m) < maxConditionMessage-4 {
		t.Errorf("a message of %d bytes was kept of one of %d", len(m), len(long.Message))
	}
	many := make([]Condition, 1000)
	many[999] = good
	if kept, dropped := bounded(many); len(kept) != 0 || dropped != 1000 {
		t.Errorf("of a thousand %d were kept, %d dropped", len(kept), dropped)
	}
}

// The last value of a type holds; whoever waits is woken by a change and by nothing else.
func TestConditionsLastValueWins(t *testing.T) {
	var c Conditions
	_, changed := c.All()
	is := func(want bool, what string) {
		t.Helper()
		select {
		case <-changed:
			if !want {
				t.Errorf("%s: woken", what)
			}
		default:
			if want {
				t.Errorf("%s: not woken", what)
			}
		}
	}
	c.Clear(ClockInSync)
	is(false, "nothing to clear")
	trusted := Condition{Type: CenterTrusted, Status: True, Reason: "Followed"}
	c.Set(Condition{Type: TargetReachable, Status: True, Reason: "Answers"})
	c.Set(Condition{Type: CenterTrusted, Status: False, Reason: CenterRegressed})
	c.Set(trusted)
	is(true, "set")
	before, next := c.All()
	changed = next
	c.Set(trusted)
	is(false, "set to what it was")
	c.Clear(TargetReachable)
	is(true, "cleared")
	if after, _ := c.All(); !reflect.DeepEqual(after, ChildStatus{Conditions: []Condition{trusted}}) ||
		len(before.Conditions) != 2 {
		t.Errorf("list %+v, before %+v", after, before)
	}
	if got, ok := c.Get(CenterTrusted); !ok || got != trusted {
		t.Errorf("got %+v", got)
	}
}
