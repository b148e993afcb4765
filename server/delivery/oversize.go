package delivery

import (
	"fmt"

	"skerry.dev/skerry/store"
)

// TooLarge is the reason of an object that is not sent, because its body is larger than
// store.MaxBodyBytes. The API refuses such objects when they are written; one may still grow by
// what a Placement's policy, another version of its kind, or a parent adds.
const TooLarge = "TooLarge"

// sized notes how large the body of an object is, and says on the object when that is too large.
// d.mu must be held.
func (d *Delivery) sized(o *object, n int) {
	was := d.oversize[o]
	if n <= store.MaxBodyBytes {
		n = 0
	}
	if n == was {
		return
	}
	if n == 0 {
		delete(d.oversize, o)
		d.cfg.Refuse(o.key(), nil)
		return
	}
	d.oversize[o] = n
	d.cfg.Refuse(o.key(), &store.ReportError{Reason: TooLarge, Message: tooLarge(n)})
}

// unsent tells why an object is not sent, empty for all that are. d.mu must be held.
func (d *Delivery) unsent(o *object) string {
	if n := d.oversize[o]; n > 0 {
		return TooLarge + ": " + tooLarge(n)
	}
	return ""
}

func tooLarge(n int) string {
	return fmt.Sprintf("the center does not send it: it would be %d bytes of JSON, and the limit is %d; "+
		"make it smaller, or split it", n, store.MaxBodyBytes)
}
