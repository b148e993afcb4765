package summary

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/store"
)

// An object that was deleted in its space and hangs at a site is told there, as long as it hangs; one
// that goes in time is not, whatever the site said of it before.
func TestWhatHangsAtASiteIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t)
		defer c.stop()
		hangs, goes, moved := key("apps", "deployments", "hangs"), key("", "configmaps", "goes"), key("", "secrets", "moved")
		c.place(moved, "v1", "Secret", "rome")
		says := func(k store.Key, why string) *store.Report {
			return &store.Report{OriginUID: "uid-" + k.Name, Error: &store.ReportError{Reason: "WaitingForFinalizers", Message: why}}
		}
		c.says("paris", hangs, says(hangs, "waits for example.com/slow"))
		c.says("paris", goes, says(goes, "waits for example.com/fast"))
		c.says("paris", moved, says(moved, "waits for example.com/slow"))
		time.Sleep(stuckAge / 2)
		c.says("paris", goes, nil)
		if now := c.happenings(); len(now) != 0 {
			t.Errorf("told at once: %v", now)
		}
		time.Sleep(stuckAge)
		told := func(times int) map[string]bool {
			const text = "%v/%s uid-%s x%d WaitingForFinalizers skerry@<nil>: paris: the object is to go there, and does not: " +
				"waits for example.com/slow"
			return map[string]bool{fmt.Sprintf(text, "deployments", "hangs", "hangs", times): true,
				fmt.Sprintf(text, "Secret", "moved", "moved", times): true}
		}
		check := func(want map[string]bool) {
			t.Helper()
			synctest.Wait()
			if now := c.happenings(); fmt.Sprint(now) != fmt.Sprint(want) {
				t.Errorf("got %v\nwant %v", now, want)
			}
		}
		check(told(1))
		time.Sleep(stuckRepeat)
		check(told(2))
		c.says("paris", hangs, nil)
		c.says("paris", moved, nil)
		time.Sleep(24 * time.Hour)
		check(told(2))
		c.s.leaving.mu.Lock()
		defer c.s.leaving.mu.Unlock()
		if len(c.s.leaving.of)+len(c.s.leaving.due) != 0 {
			t.Errorf("kept are %v and %v", c.s.leaving.of, c.s.leaving.due)
		}
	})
}

// A site that says late why it cannot remove an object is heard, and not only at the next repeat.
func TestWhatHangsLaterAtASiteIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t)
		defer c.stop()
		late := key("apps", "deployments", "late")
		c.says("paris", late, &store.Report{OriginUID: "uid-late"})
		time.Sleep(stuckAge + time.Second)
		c.says("paris", late, &store.Report{OriginUID: "uid-late",
			Error: &store.ReportError{Reason: "WaitingForFinalizers", Message: "waits"}})
		time.Sleep(stuckAge)
		synctest.Wait()
		if now := c.happenings(); len(now) != 1 {
			t.Errorf("told is %v", now)
		}
	})
}
