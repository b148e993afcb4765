package catalog

// Few is what is known of few objects, by object. Of all others it is the zero value.
type Few[T comparable] map[*Object]T

// Read takes over that of an object. The lock must be held.
func (f Few[T]) Read(o *Object, is T) {
	var none T
	if is == none {
		delete(f, o)
	} else {
		f[o] = is
	}
}
