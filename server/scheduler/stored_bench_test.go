package scheduler

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"testing"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/binding"
)

// someUID looks as a UID does: it has 122 bits that nothing else has.
func someUID(i int) string {
	h := fnv.New128a()
	fmt.Fprint(h, i)
	b := h.Sum(nil)
	return fmt.Sprintf("%x-%x-4%.3x-8%.3x-%x", b[:4], b[4:6], binary.BigEndian.Uint16(b[6:])>>4,
		binary.BigEndian.Uint16(b[8:])>>4, b[10:])
}

// BenchmarkStored measures the stored form of records, without their keys.
func BenchmarkStored(b *testing.B) {
	unit := v1alpha1.BindingUnit{Group: "skerry.dev", Resource: "placements", Name: "web"}
	const members = 100
	for _, targets := range []int{1, 3, 10, 100} {
		var known Targets
		r := binding.Record{Era: 1 << 60, Generation: 3}
		for i := range targets {
			r.Places = append(r.Places, binding.Place{Target: known.ID(someUID(i), fmt.Sprintf("site-%03d", i))})
		}
		of := &binding.Binding{Unit: binding.UnitID(someUID(1000)), Record: r}
		passes := &binding.Cohort{Seq: 12, To: of.Unit, Record: r}
		for i := range members {
			passes.Members = append(passes.Members, binding.ObjectID(someUID(2000+i)))
		}
		for _, c := range []struct {
			what   string
			record Record
		}{
			{fmt.Sprintf("Binding,targets=%d", targets), Record{Unit: unit, Binding: of}},
			{fmt.Sprintf("Cohort,targets=%d,members=%d", targets, members), Record{Unit: unit, Cohort: passes}},
		} {
			b.Run(c.what, func(b *testing.B) {
				var value []byte
				for b.Loop() {
					var err error
					if value, err = c.record.Encode(&known); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(len(value)), "B/record")
			})
		}
	}
}
