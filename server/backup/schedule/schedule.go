package schedule

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"skerry.dev/skerry/tunnel/period"
)

// shortest is the shortest interval between two backups: each reads the whole database.
const shortest = time.Minute

// Schedule says when the next backup is due. Its zero value is none.
type Schedule struct {
	every time.Duration // 0 for cron
	cron  cron.Schedule
}

// Parse reads an interval (6h, 30m, 1d) or a cron expression of five fields in local time
// (30 2 * * *, @daily). The error says what may stand there.
func Parse(text string) (Schedule, error) {
	text = strings.TrimSpace(text)
	if every, err := period.Parse(text); err == nil {
		if every < shortest {
			return Schedule{}, fmt.Errorf("%s: at least %s", text, shortest)
		}
		return Schedule{every: every}, nil
	}
	s, err := parseCron(text)
	if err != nil {
		return Schedule{}, fmt.Errorf("%q: write an interval such as 6h or 1d, or a cron expression of five fields "+
			"such as \"30 2 * * *\"", text)
	}
	if every, ok := s.(cron.ConstantDelaySchedule); ok && every.Delay < shortest {
		return Schedule{}, fmt.Errorf("%s: at least %s", text, shortest)
	}
	if s.Next(time.Now()).IsZero() {
		return Schedule{}, fmt.Errorf("%q: there is no such day", text)
	}
	return Schedule{cron: s}, nil
}

// errNoFields is of a time zone with nothing behind it, at which the library would panic.
var errNoFields = errors.New("a time zone without fields")

func parseCron(text string) (cron.Schedule, error) {
	if strings.HasPrefix(text, "TZ=") || strings.HasPrefix(text, "CRON_TZ=") {
		if !strings.Contains(text, " ") {
			return nil, errNoFields
		}
	}
	return cron.ParseStandard(text)
}

// IsZero reports whether there is no schedule.
func (s Schedule) IsZero() bool { return s.every == 0 && s.cron == nil }

// Due returns when the backup after the one of last is due; last is zero where there is none. What
// was missed, and what has no predecessor, is due now. A last backup that lies in the future, by a
// clock that was wrong, counts as one of now.
func (s Schedule) Due(last, now time.Time) time.Time {
	if last.IsZero() {
		return now
	}
	if last.After(now) {
		last = now
	}
	var due time.Time
	if s.every > 0 {
		due = last.Add(s.every)
	} else {
		due = s.cron.Next(last.In(now.Location()))
	}
	if due.Before(now) {
		return now
	}
	return due
}
