//go:build !(linux && amd64)

package othertime

import "errors"

// Run is not there.
func Run(Config) (int, error) { return 0, errors.New("another time is for Linux on x86-64") }
