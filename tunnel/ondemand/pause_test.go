package ondemand_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/tunnel/ondemand"
)

// A pause lasts as long as it should, and ends with its context.
func TestPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if !ondemand.Pause(t.Context(), time.Hour) || time.Since(began) != time.Hour {
			t.Errorf("it ended after %s", time.Since(began))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if ondemand.Pause(ctx, time.Hour) || time.Since(began) != time.Hour+time.Minute {
			t.Errorf("a cut one ended after %s", time.Since(began)-time.Hour)
		}
	})
}
