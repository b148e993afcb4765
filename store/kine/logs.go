package kine

import (
	"errors"
	"strings"

	"github.com/sirupsen/logrus"
)

func init() { logrus.AddHook(withoutValues{}) }

// withoutValues keeps values out of logs: kine prints a request that failed as a whole, and it may
// write a Secret.
type withoutValues struct{}

func (withoutValues) Levels() []logrus.Level { return logrus.AllLevels }

// Fire leaves of such a line the end of the error, which follows the request after a colon.
func (withoutValues) Fire(e *logrus.Entry) error {
	for _, what := range []string{"error in txn", "error in put"} {
		if i := strings.LastIndex(e.Message, ": "); i >= 0 &&
			strings.HasPrefix(e.Message, what+" ") {
			e.Message = what + e.Message[i:]
		}
	}
	if t := troubleOf("", errors.New(e.Message)); t != nil {
		e.Message += ": " + brief[t.Kind]
	}
	return nil
}
