package compactmap

// Shrink returns a list with the same elements whose memory is at most four times what they need.
// It is the list itself where that is so already.
func Shrink[E any](list []E) []E {
	if cap(list) <= 4*len(list) {
		return list
	}
	// slices.Clone of an empty list keeps its memory
	return append(make([]E, 0, len(list)), list...)
}
