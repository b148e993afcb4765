package scheduler

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/binding"
	"skerry.dev/skerry/server/fields"
)

func decode(t *testing.T, value []byte, known *Targets) (Record, map[string]any) {
	t.Helper()
	var o map[string]any
	if err := json.Unmarshal(value, &o); err != nil {
		t.Fatal(err)
	}
	r, err := Decode(o, known)
	if err != nil {
		t.Fatal(err)
	}
	return r, o
}

// A record is stored with the UIDs of its targets, so that another process may number them otherwise;
// and people can read it.
func TestARecordSurvivesAProcess(t *testing.T) {
	var here, there Targets
	a, b, c := here.ID("uid-a", "a"), here.ID("uid-b", "b"), here.ID("uid-c", "c")
	there.ID("uid-c", "c") // another number
	record := binding.Record{Era: 7, Generation: 3, Places: []binding.Place{
		{Target: b, Leaving: binding.Replaced, Sole: true}, {Target: a, For: b, Since: 1000},
	}, GaveUp: []binding.GaveUp{{Target: c, Try: 99}}}
	want := `[{"instead":"","name":"b","state":"Leaving"},{"instead":"b","name":"a","state":"Joining"},` +
		`{"instead":"","name":"c","state":"GaveUp"}]`
	unit := v1alpha1.BindingUnit{Group: "skerry.dev", Resource: "placements", Name: "web"}
	for name, r := range map[string]Record{
		"binding": {Unit: unit, Binding: &binding.Binding{Unit: "u-1", Record: record}},
		"cohort": {Unit: unit, Cohort: &binding.Cohort{
			Seq: 12, To: "u-1", Members: []binding.ObjectID{"o-1", "o-2"}, Record: record}},
	} {
		value, err := r.Encode(&here)
		if err != nil {
			t.Fatal(err)
		}
		got, o := decode(t, value, &there)
		if got.Unit != unit {
			t.Errorf("%s: of %+v", name, got.Unit)
		}
		again, err := got.Encode(&there)
		if err != nil || string(again) != string(value) {
			t.Errorf("%s: %v\n%s\nbecame\n%s", name, err, value, again)
		}
		var places binding.Record
		if got.Binding != nil {
			places = got.Binding.Record
		} else {
			places = got.Cohort.Record
			if len(got.Cohort.Members) != 2 || got.Cohort.To != "u-1" || got.Cohort.Seq != 12 {
				t.Errorf("%s: %+v", name, got.Cohort)
			}
		}
		if there.Of(places.Places[1].Target).Name != "a" || places.Places[1].For != places.Places[0].Target ||
			there.Of(places.GaveUp[0].Target).Name != "c" {
			t.Errorf("%s: %+v", name, places)
		}
		var said []map[string]any
		for target := range fields.Maps(fields.Map(o, "spec"), "targets") {
			said = append(said, map[string]any{"name": target["name"], "state": target["state"],
				"instead": fields.String(target, "instead")})
		}
		if text, err := json.Marshal(said); err != nil || string(text) != want {
			t.Errorf("%s says %s", name, text)
		}
	}
	term := binding.Term{Era: 5, Open: true}
	value, err := Record{Term: &term}.Encode(&here)
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := decode(t, value, &there); got.Term == nil || got.Term.Era != 5 || !got.Term.Open {
		t.Errorf("term: %+v", got)
	}
}

// What somebody has changed by hand is no record, and is not half of one either.
func TestWhatIsNoRecordIsRefused(t *testing.T) {
	var known Targets
	r := Record{Binding: &binding.Binding{Unit: "u-1",
		Record: binding.Record{Places: []binding.Place{{Target: known.ID("uid-a", "a")}}}}}
	value, err := r.Encode(&known)
	if err != nil {
		t.Fatal(err)
	}
	for what, change := range map[string]func(o map[string]any){
		"no base64":      func(o map[string]any) { fields.Map(o, "spec")["record"] = "?" },
		"another unit":   func(o map[string]any) { fields.Map(o, "metadata")["name"] = "u-2" },
		"a cohort":       func(o map[string]any) { fields.Map(o, "metadata")["name"] = "cohort-1" },
		"no such target": func(o map[string]any) { delete(fields.Map(o, "spec"), "targets") },
		"no record":      func(o map[string]any) { delete(fields.Map(o, "spec"), "record") },
	} {
		var o map[string]any
		if err := json.Unmarshal(value, &o); err != nil {
			t.Fatal(err)
		}
		change(o)
		if r, err := Decode(o, &known); err == nil || r != (Record{}) || !strings.Contains(err.Error(), "record") {
			t.Errorf("%s: %+v %v", what, r, err)
		} else if what == "no such target" && !errors.Is(err, binding.ErrStored) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
