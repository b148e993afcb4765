// Package compactmap has containers that take memory for what is in them now. Go's maps never
// shrink, and grow while entries come and go though their number stays the same.
//
// Map is a map; Index finds values that hold their key themselves, at about 13 bytes each; Shrink copies
// a slice that has become much too large for its elements. None locks, and no order is kept. They
// are for what lives as long as the process and follows the number of objects.
package compactmap
