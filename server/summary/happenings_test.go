package summary

import (
	"fmt"
	"testing"
	"time"

	"skerry.dev/skerry/store"
)

// happenings are the Events of the space, as "kind/name reason xcount: message".
func (c *center) happenings() map[string]bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := map[string]bool{}
	for k, o := range c.objects {
		if k.Resource == "events" {
			about, _ := o["involvedObject"].(map[string]any)
			source, _ := o["source"].(map[string]any)
			out[fmt.Sprintf(
				"%v/%v %v x%v %v %v@%v: %v",
				about["kind"],
				about["name"],
				about["uid"],
				o["count"],
				o["reason"],
				source["component"],
				source["host"],
				o["message"],
			)] = true
		}
	}
	return out
}

func warning(about *store.EventObject, message string, count int64) *store.Report {
	return &store.Report{OriginUID: "uid-web", At: time.Now().UnixMilli(), Event: &store.ReportEvent{
		Owner: store.EventObject{
			APIVersion: "apps/v1",
			Kind:       "Deployment",
			Name:       "web",
		}, About: about, Type: "Warning", Reason: "Failed",
		Message: message, Component: "kubelet", Count: count, First: 1764000000,
	}}
}

func TestEventsOfTargetsAreShown(t *testing.T) {
	c := newCenter(t)
	c.place(web, "apps/v1", "Deployment", "a")
	pod, event := key("", "pods", "web-0"), key("", "events", "web-0.x")
	about := &store.EventObject{APIVersion: "v1", Kind: "Pod", Name: "web-0"}
	c.says("a", event, warning(about, "no image", 2))
	c.eventually("at the Deployment", func() bool {
		return c.happenings()["Deployment/web uid-web x2 Failed kubelet@a: Pod web-0 on a: no image"]
	})
	if n := len(c.happenings()); n != 1 {
		t.Errorf("%d events, though the pod is not reported", n)
	}
	c.says("a", pod, podReport("Pending"))
	c.eventually("the pod is mirrored", func() bool { return c.exists(pod) })
	o, _ := c.Get(t.Context(), pod, "")
	uid := o["metadata"].(map[string]any)["uid"]
	c.says("a", event, warning(about, "still no image", 8))
	c.eventually("at both, brought up to date", func() bool {
		now := c.happenings()
		return len(now) == 2 && now["Deployment/web uid-web x8 Failed kubelet@a: Pod web-0 on a: still no image"] &&
			now[fmt.Sprintf("Pod/web-0 %v x8 Failed kubelet@a: still no image", uid)]
	})
	own := key("", "events", "web.y")
	c.says("a", own, warning(nil, "quota", 1))
	c.says("a", event, nil)
	c.eventually("what is said no more is gone", func() bool {
		now := c.happenings()
		return len(now) == 1 && now["Deployment/web uid-web x1 Failed kubelet@a: quota"]
	})
	c.says("a", own, nil)
	c.eventually("nothing is left", func() bool { return len(c.happenings()) == 0 })
}

func TestEventsOfWhatIsNotThereAreNotShown(t *testing.T) {
	c := newCenter(t)
	c.place(web, "apps/v1", "Deployment", "a")
	other := warning(nil, "of a former one", 1)
	other.OriginUID = "uid-before"
	c.says("a", key("", "events", "1"), other)
	c.says("b", key("", "events", "2"), warning(nil, "of another target", 1))
	c.says("a", key("", "events", "3"), warning(nil, "right", 1))
	c.eventually("the right one", func() bool { return len(c.happenings()) > 0 })
	c.eventually("all are looked at", func() bool {
		c.s.mu.Lock()
		defer c.s.mu.Unlock()
		return len(c.s.reportedEvents.news) == 0
	})
	if now := c.happenings(); len(now) != 1 || !now["Deployment/web uid-web x1 Failed kubelet@a: right"] {
		t.Errorf("%v", now)
	}
}
