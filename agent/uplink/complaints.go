package uplink

import (
	"maps"
	"regexp"
	"time"
)

// Bounds of what is logged without a session: a site may be cut off for years, and its log is on
// its own disk.
const (
	complaintEvery = time.Hour // the same reason
	maxComplaints  = 16        // reasons in that time
)

// complaints are the reasons that were logged, and when.
type complaints map[string]time.Time

// sourceAddress is the part of a network error that differs with each try.
var sourceAddress = regexp.MustCompile(`\S+->`)

// allow returns what to log of a reason. It reports false if the reason was logged not long ago.
func (c *complaints) allow(err error, now time.Time) (string, bool) {
	text := sourceAddress.ReplaceAllString(err.Error(), "")
	maps.DeleteFunc(*c, func(_ string, at time.Time) bool { return now.Sub(at) >= complaintEvery })
	if _, known := (*c)[text]; known || len(*c) >= maxComplaints {
		return "", false
	}
	if *c == nil {
		*c = complaints{}
	}
	(*c)[text] = now
	return text, true
}
