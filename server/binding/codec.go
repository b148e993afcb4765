package binding

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"

	"skerry.dev/skerry/store"
)

// The stored form: one byte for the form, one for the kind, then unsigned varints, and fixed 64
// bits for what is random. A UID of the usual form takes 17 bytes, a place that nothing is waited for
// one to three.
const (
	form        = 1
	kindBinding = 'B'
	kindCohort  = 'C'
	kindTerm    = 'T'
)

// The limits of one record. A value of the store has 1.5 MiB at most.
const (
	MaxStored  = 1 << 20
	MaxMembers = 50_000
	MaxPlaces  = 100_000
	maxUID     = 128
	maxHeirs   = 1_000
)

// ErrStored is returned for bytes that are no record of this form.
var ErrStored = errors.New("stored binding cannot be read")

// ErrTooLarge is returned for a record that does not fit into one value of the store: place fewer
// objects by one write, or fewer targets.
var ErrTooLarge = errors.New("binding is larger than 1 MiB")

// Encode returns the stored form.
func (b Binding) Encode() ([]byte, error) {
	e := encoder{stored: []byte{form, kindBinding}}
	e.uid(string(b.Unit))
	e.record(b.Record)
	return e.done()
}

// Encode returns the stored form.
func (c Cohort) Encode() ([]byte, error) {
	if len(c.Members) > MaxMembers {
		return nil, fmt.Errorf("cohort of %d objects: %w", len(c.Members), ErrTooLarge)
	}
	e := encoder{stored: []byte{form, kindCohort}}
	e.uint(c.Seq)
	e.uid(string(c.To))
	e.flags(c.Ended, c.BreakFirst, c.Arrived)
	if e.flags(c.Hooks != ""); c.Hooks != "" {
		e.uid(string(c.Hooks))
	}
	e.uint(uint64(len(c.Members)))
	for _, o := range c.Members {
		e.uid(string(o))
	}
	e.record(c.Record)
	return e.done()
}

// Encode returns the stored form.
func (t Term) Encode() ([]byte, error) {
	e := encoder{stored: []byte{form, kindTerm}}
	e.fixed(uint64(t.Era))
	e.flags(t.Open)
	e.uint(uint64(len(t.Heirs)))
	for _, h := range t.Heirs {
		e.fixed(uint64(h))
	}
	return e.done()
}

type encoder struct {
	stored []byte
	err    error
}

func (e *encoder) uint(n uint64)  { e.stored = binary.AppendUvarint(e.stored, n) }
func (e *encoder) fixed(n uint64) { e.stored = binary.BigEndian.AppendUint64(e.stored, n) }

func (e *encoder) flags(set ...bool) {
	var b byte
	for i, on := range set {
		if on {
			b |= 1 << i
		}
	}
	e.stored = append(e.stored, b)
}

// uid writes a UID as 16 bytes behind a zero, or as text behind its length.
func (e *encoder) uid(text string) {
	if raw, ok := packUID(text); ok {
		e.stored = append(append(e.stored, 0), raw...)
		return
	}
	if text == "" || len(text) > maxUID {
		e.err = fmt.Errorf("encode UID %.40q: it must have 1 to %d bytes", text, maxUID)
	}
	e.uint(uint64(len(text)))
	e.stored = append(e.stored, text...)
}

func (e *encoder) record(r Record) {
	e.fixed(uint64(r.Era))
	e.uint(uint64(r.Generation))
	e.uint(uint64(len(r.Places)))
	last := TargetID(0)
	for _, p := range r.Places {
		plain := p == Place{Target: p.Target}
		e.uint(zigzag(int64(p.Target)-int64(last))<<1 | bit(!plain))
		last = p.Target
		if !plain {
			runs := p.Hooks != Hooks{}
			e.uint(bit(p.Copying)<<6 | bit(runs)<<5 | uint64(p.Leaving)<<2 | bit(p.Sole)<<1 | bit(p.Off))
			e.uint(uint64(p.For))
			e.uint(uint64(p.Since))
			if runs {
				e.hooks(p.Hooks)
			}
		}
	}
	e.uint(uint64(len(r.GaveUp)))
	for _, g := range r.GaveUp {
		e.uint(uint64(g.Target))
		e.fixed(g.Try)
	}
}

func (e *encoder) hooks(h Hooks) {
	e.uint(uint64(h.Began))
	e.uint(uint64(h.Ran))
	e.uint(uint64(h.Failed))
}

func (e *encoder) done() ([]byte, error) {
	if len(e.stored) > MaxStored && e.err == nil {
		e.err = fmt.Errorf("%d bytes: %w", len(e.stored), ErrTooLarge)
	}
	if e.err != nil {
		return nil, e.err
	}
	return e.stored, nil
}

func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

func zigzag(n int64) uint64   { return uint64(n<<1) ^ uint64(n>>63) }
func unzigzag(n uint64) int64 { return int64(n>>1) ^ -int64(n&1) }

// packUID returns a UID of the form 8-4-4-4-12 as 16 bytes.
func packUID(text string) ([]byte, bool) {
	if len(text) != 36 || text[8] != '-' || text[13] != '-' || text[18] != '-' || text[23] != '-' {
		return nil, false
	}
	digits := text[:8] + text[9:13] + text[14:18] + text[19:23] + text[24:]
	raw, err := hex.DecodeString(digits)
	return raw, err == nil && hex.EncodeToString(raw) == digits
}

func unpackUID(raw []byte) string {
	h := hex.EncodeToString(raw)
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// DecodeBinding reads the stored form of a Binding.
func DecodeBinding(stored []byte) (b Binding, err error) {
	d := newDecoder(stored, kindBinding)
	b.Unit = UnitID(d.uid())
	b.Record = d.record()
	return b, d.done()
}

// DecodeCohort reads the stored form of a cohort.
func DecodeCohort(stored []byte) (c Cohort, err error) {
	d := newDecoder(stored, kindCohort)
	c.Seq, c.To = d.uint(math.MaxUint64), UnitID(d.uid())
	c.Ended, c.BreakFirst, c.Arrived = d.flags(3)
	if hooks, _, _ := d.flags(1); hooks {
		c.Hooks = UnitID(d.uid())
	}
	if n := d.count(MaxMembers, 2); n > 0 {
		c.Members = make([]ObjectID, n)
	}
	for i := range c.Members {
		c.Members[i] = ObjectID(d.uid())
		if i > 0 && c.Members[i-1] >= c.Members[i] {
			d.bad("members are not in order")
			break
		}
	}
	c.Record = d.record()
	return c, d.done()
}

// DecodeTerm reads the stored form of a term.
func DecodeTerm(stored []byte) (t Term, err error) {
	d := newDecoder(stored, kindTerm)
	t.Era = store.Era(d.fixed())
	t.Open, _, _ = d.flags(1)
	if n := d.count(maxHeirs, 8); n > 0 {
		t.Heirs = make([]store.Era, n)
	}
	for i := range t.Heirs {
		t.Heirs[i] = store.Era(d.fixed())
	}
	return t, d.done()
}

// record reads what Bindings and cohorts share.
func (d *decoder) record() (r Record) {
	r.Era, r.Generation = store.Era(d.fixed()), int64(d.uint(math.MaxInt64))
	if n := d.count(MaxPlaces, 1); n > 0 {
		r.Places = make([]Place, n)
	}
	last := int64(0)
	for i := range r.Places {
		head := d.uint(math.MaxUint64)
		last += unzigzag(head >> 1)
		if last <= 0 || last > math.MaxUint32 {
			d.bad("no such target")
			return r
		}
		r.Places[i].Target = TargetID(last)
		if head&1 != 0 {
			d.place(&r.Places[i])
		}
	}
	if n := d.count(MaxPlaces, 9); n > 0 {
		r.GaveUp = make([]GaveUp, n)
	}
	for i := range r.GaveUp {
		r.GaveUp[i] = GaveUp{TargetID(d.uint(math.MaxUint32)), d.fixed()}
	}
	if d.err == nil && twice(r.Places) {
		d.bad("a target is named twice")
	}
	return r
}

func (d *decoder) place(p *Place) {
	how := d.uint(1<<7 - 1)
	p.Off, p.Sole, p.Leaving = how&1 != 0, how&2 != 0, Reason(how>>2&7)
	p.Copying = how>>6 != 0
	p.For, p.Since = TargetID(d.uint(math.MaxUint32)), uint32(d.uint(math.MaxUint32))
	if how>>5&1 != 0 {
		p.Hooks = d.hooks()
		if p.Off || p.Leaving == Stays || p.Hooks.Began == 0 {
			d.bad("hooks of a place that is not about to be left")
		}
	}
	if p.Leaving > Evicted || p.Off && p.Leaving == Stays || p.Copying && !p.Off || p.For == p.Target ||
		*p == (Place{Target: p.Target}) {
		d.bad("a place contradicts itself")
	}
}

func (d *decoder) hooks() (h Hooks) {
	h.Began = uint32(d.uint(math.MaxUint32))
	h.Ran, h.Failed = uint8(d.uint(math.MaxUint8)), uint8(d.uint(math.MaxUint8))
	return h
}

func twice(places []Place) bool {
	ids := make([]TargetID, len(places))
	for i, p := range places {
		ids[i] = p.Target
	}
	slices.Sort(ids)
	return len(slices.Compact(ids)) < len(places)
}
