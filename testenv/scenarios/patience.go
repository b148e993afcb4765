package scenarios

import (
	"fmt"
	"os"
	"strconv"
	"time"
)

// usualPatience multiplies where SKERRY_PATIENCE is not set.
const usualPatience = 3

// patience multiplies the limits of all waits: they are for a quiet machine, and a busy one takes longer
// for everything. It costs nothing where something does happen.
var patience = func() time.Duration {
	n, err := patienceOf(os.Getenv("SKERRY_PATIENCE"))
	if err != nil {
		panic(err)
	}
	return n
}()

// patienceOf reads the value of SKERRY_PATIENCE.
func patienceOf(value string) (time.Duration, error) {
	if value == "" {
		return usualPatience, nil
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("SKERRY_PATIENCE is %q and not a number from 1 up", value)
	}
	return time.Duration(n), nil
}
