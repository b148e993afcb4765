package server

import (
	"errors"
	"time"
)

// `skerry doctor` has the lock of a data directory, and the port, for a moment to see whether they are
// free. A center that starts in that moment waits for them.
const (
	patience     = 2 * time.Second
	patienceStep = 20 * time.Millisecond
)

// patiently tries again while the error is busy, for as long as patience.
func patiently(busy error, try func() error) error {
	for end := time.Now().Add(patience); ; time.Sleep(patienceStep) {
		if err := try(); !errors.Is(err, busy) || !time.Now().Before(end) {
			return err
		}
	}
}
