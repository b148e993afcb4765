package v1alpha1

import "strconv"

// Renames is how often a SyncTarget was renamed, of the text of AnnotationRenames.
func Renames(text string) int {
	n, _ := strconv.Atoi(text) // none is 0
	return n
}
