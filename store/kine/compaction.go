package kine

import (
	"time"

	"github.com/sirupsen/logrus"
)

const (
	// compactTimeout is how long one step of a compaction may take; one that cannot have the database that long is given up and comes again.
	compactTimeout = 5 * time.Second
	// minRetain is how many revisions are kept however old they are.
	minRetain = 1000
)

// kine ends the process when the transaction of a compaction cannot be committed, as it is when another connection has the database for longer
// than compactTimeout. Nothing is lost then: the next step finds by the database that the one before was not done, and does it again. Nothing
// else that is used here calls Fatal.
func init() {
	logrus.StandardLogger().ExitFunc = func(int) {}
	logrus.AddHook(withoutValues{})
}
