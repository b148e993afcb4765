package output

import "fmt"

// Bytes is a number of bytes for people, to three digits.
func Bytes(n int64) string {
	units, at, f := []string{"B", "kB", "MB", "GB", "TB"}, 0, float64(n)
	for ; f >= 999.5 && at < len(units)-1; at++ {
		f /= 1000
	}
	return fmt.Sprintf("%.3g %s", f, units[at])
}
