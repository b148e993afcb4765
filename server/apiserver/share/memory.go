package share

import (
	"math"
	"runtime/debug"
)

// usableMemory is how much memory this process may use, in bytes: GOMEMLIMIT, what the limits of its
// control groups leave it, and what the machine has, whichever is the least.
func usableMemory() int64 {
	return min(debug.SetMemoryLimit(-1), memoryLimit())
}

// unlimited is a limit that is not there.
const unlimited = math.MaxInt64
