//go:build !(linux && amd64)

package othertime

import (
	"errors"
	"time"
)

// Config says which program sees which time.
type Config struct {
	At      time.Time
	Until   string
	Command []string
}

// Run is not there.
func Run(Config) (int, error) { return 0, errors.New("another time is for Linux on x86-64") }
