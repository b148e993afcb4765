package boottime

import "time"

// started is where the clock begins on a machine that has no better one.
var started = time.Now()
