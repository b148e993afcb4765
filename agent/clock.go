package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"skerry.dev/skerry/tunnel/enroll"
)

// clockName names the value in the agent's file that has the state of the Clock.
const clockName = "clock"

// clockPause is how often the bound is written when nothing else is. An old lower bound does no
// harm, and flash wears out.
const clockPause = 6 * time.Hour

// loadClock goes on with what an earlier process knew of the time, and has it written along with
// other changes. What cannot be read is forgotten: a clock is never a reason not to start.
func (a *agent) loadClock() error {
	data, err := a.file.Meta(clockName)
	if err != nil {
		return fmt.Errorf("read the last trusted time: %w", err)
	}
	var state enroll.ClockState
	if err := json.Unmarshal(data, &state); err != nil && len(data) > 0 {
		a.Log.Warn("the last trusted time cannot be read; it is learned anew", "err", err)
		state = enroll.ClockState{}
	}
	a.clock = enroll.NewClock(state)
	a.file.Piggyback(clockName, a.clockState)
	return nil
}

func (a *agent) clockState() []byte {
	state := a.clock.State()
	if state.Least.IsZero() {
		return nil
	}
	data, err := json.Marshal(state)
	if err != nil {
		return nil // a time beyond the year 9999 is not worth keeping
	}
	return data
}

// runClock writes the state of the Clock rarely, and when ctx ends.
func (a *agent) runClock(ctx context.Context) {
	tick := time.NewTicker(clockPause)
	defer tick.Stop()
	for ctx.Err() == nil {
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
		data := a.clockState()
		if data == nil {
			continue
		}
		if err := a.file.SetMeta(clockName, data); err != nil {
			a.Log.Warn("the last trusted time could not be written", "err", err)
		}
	}
}
