package binding_test

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"testing"

	. "skerry.dev/skerry/server/binding"
	"skerry.dev/skerry/store"
)

// uuid is a UID as the API server makes them.
func uuid(n int) string { return fmt.Sprintf("%08x-0000-4000-8000-%012x", n, n*7) }

func examples() (b Binding, c Cohort, t Term) {
	r := Record{Era: 1 << 63, Generation: 12,
		Places: []Place{{Target: 7, Leaving: Drained, Since: 9, Hooks: Hooks{Began: 8, Ran: 1, Failed: 2}}, {Target: 9, For: 7, Since: 1_790_000_000}, {Target: 3},
			{Target: 2, Off: true, Leaving: Replaced, Since: 5}},
		GaveUp: []GaveUp{{5, 1 << 60}}}
	b = Binding{Unit: UnitID(uuid(1)), Record: r}
	c = Cohort{Seq: 4, To: "short", Members: []ObjectID{"a", ObjectID(uuid(2)[1:]), ObjectID(uuid(3))}, BreakFirst: true, Record: r}
	c = Cut(c.Seq, c.Record, c.To, c.Members, 9)
	return b, c, Term{Era: 3, Heirs: []store.Era{1, 2}, Open: true}
}

func TestStoredFormsReadBack(t *testing.T) {
	b, c, term := examples()
	x, err := b.Encode()
	if back, err2 := DecodeBinding(x); err != nil || err2 != nil || !reflect.DeepEqual(back, b) {
		t.Errorf("%+v\n%+v %v %v", b, back, err, err2)
	}
	x, err = c.Encode()
	if back, err2 := DecodeCohort(x); err != nil || err2 != nil || !reflect.DeepEqual(back, c) {
		t.Errorf("%+v\n%+v %v %v", c, back, err, err2)
	}
	x, err = term.Encode()
	if back, err2 := DecodeTerm(x); err != nil || err2 != nil || !reflect.DeepEqual(back, term) {
		t.Errorf("%+v\n%+v %v %v", term, back, err, err2)
	}
}

// TestStoredFormsAreSmall holds the sizes that README.md names.
func TestStoredFormsAreSmall(t *testing.T) {
	one := Binding{Unit: UnitID(uuid(1)), Record: Record{Era: 1 << 60, Generation: 1, Places: places(7)}}
	many := one
	many.Places = nil
	for id := range 1_000 {
		many.Places = append(many.Places, Place{Target: TargetID(1 + id*3)})
	}
	cohort := Cohort{Seq: 1, To: one.Unit, Record: one.Record}
	for i := range 5_000 {
		cohort.Members = append(cohort.Members, ObjectID(uuid(i)))
	}
	a, _ := one.Encode()
	b, _ := many.Encode()
	c, err := cohort.Encode()
	if err != nil || len(a) > 32 || len(b) > 1_100 || len(c) > 86_000 {
		t.Errorf("%d bytes of a Binding, %d with 1,000 targets, %d of a cohort of 5,000: %v", len(a), len(b), len(c), err)
	}
	cohort.Members = make([]ObjectID, MaxMembers+1)
	if _, err := cohort.Encode(); !errors.Is(err, ErrTooLarge) {
		t.Errorf("%v", err)
	}
}

func TestBadFormsAreRefused(t *testing.T) {
	b, _, _ := examples()
	good, _ := b.Encode()
	for n := range len(good) {
		if _, err := DecodeBinding(good[:n]); !errors.Is(err, ErrStored) {
			t.Errorf("the first %d bytes: %v", n, err)
		}
	}
	for what, change := range map[string]func(*Binding){
		"a target twice":         func(b *Binding) { b.Places = []Place{{Target: 1}, {Target: 1}} },
		"no target":              func(b *Binding) { b.Places = []Place{{}} },
		"off without a reason":   func(b *Binding) { b.Places = []Place{{Target: 1, Off: true}} },
		"in place of itself":     func(b *Binding) { b.Places = []Place{{Target: 1, For: 1}} },
		"a reason of the future": func(b *Binding) { b.Places = []Place{{Target: 1, Leaving: 7}} },
		"hooks of what stays":    func(b *Binding) { b.Places = []Place{{Target: 1, Hooks: Hooks{Began: 5}}} },
		"hooks that have not begun": func(b *Binding) {
			b.Places = []Place{{Target: 1, Leaving: Replaced, Hooks: Hooks{Ran: 1}}}
		},
	} {
		bad := b
		change(&bad)
		x, _ := bad.Encode()
		if _, err := DecodeBinding(x); !errors.Is(err, ErrStored) {
			t.Errorf("%s: %v", what, err)
		}
	}
	b.Unit = ""
	if _, err := b.Encode(); err == nil {
		t.Error("a Binding of no unit is stored")
	}
	if _, err := DecodeBinding(append(good, 0)); !errors.Is(err, ErrStored) {
		t.Errorf("a byte too many: %v", err)
	}
	good[0]++
	if _, err := DecodeBinding(good); !errors.Is(err, ErrStored) {
		t.Errorf("another form: %v", err)
	}
}

// FuzzStored reads anything. What can be read is written as the very same bytes.
func FuzzStored(f *testing.F) {
	b, c, term := examples()
	for _, r := range []interface{ Encode() ([]byte, error) }{b, c, term} {
		x, _ := r.Encode()
		f.Add(x)
	}
	f.Fuzz(func(t *testing.T, stored []byte) {
		if b, err := DecodeBinding(stored); err == nil {
			again(t, stored, b)
		}
		if c, err := DecodeCohort(stored); err == nil {
			again(t, stored, c)
		}
		if term, err := DecodeTerm(stored); err == nil {
			again(t, stored, term)
		}
	})
}

func again(t *testing.T, stored []byte, r interface{ Encode() ([]byte, error) }) {
	t.Helper()
	if x, err := r.Encode(); err != nil || !bytes.Equal(x, stored) {
		t.Fatalf("%x was read as %+v, which is %x: %v", stored, r, x, err)
	}
}
