package summary

import (
	"fmt"
	"testing"
	"testing/synctest"
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
	synctest.Test(t, func(t *testing.T) {
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
	})
}

func TestEventsOfWhatIsNotThereAreNotShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t)
		c.place(web, "apps/v1", "Deployment", "a")
		other := warning(nil, "of a former one", 1)
		other.OriginUID = "uid-before"
		c.says("a", key("", "events", "1"), other)
		c.says("b", key("", "events", "2"), warning(nil, "of another target", 1))
		c.says("a", key("", "events", "3"), warning(nil, "right", 1))
		c.mu.Lock()
		at := c.placed[web]
		at.Named = []string{"c"}
		c.placed[web] = at
		c.mu.Unlock()
		c.says("c", key("", "events", "4"), warning(nil, "of one that has its name alone", 1))
		c.eventually("the right ones", func() bool { return len(c.happenings()) > 1 })
		c.eventually("all are looked at", func() bool {
			c.s.mu.Lock()
			defer c.s.mu.Unlock()
			return len(c.s.reportedEvents.news) == 0
		})
		if now := c.happenings(); len(now) != 2 || !now["Deployment/web uid-web x1 Failed kubelet@a: right"] ||
			!now["Deployment/web uid-web x1 Failed kubelet@c: of one that has its name alone"] {
			t.Errorf("%v", now)
		}
	})
}

// A center that starts withdraws what targets said before and do not say any more, and writes nothing of
// what they still say.
func TestEventsThatAreOverGoAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t)
		c.place(web, "apps/v1", "Deployment", "a")
		crd := store.Key{Space: "shop", Group: "example.com", Resource: "widgets", Name: "w"}
		c.place(crd, "example.com/v1", "Widget", "a")
		wide := warning(nil, "of a cluster-scoped one", 1)
		wide.OriginUID, wide.Event.Owner = "uid-w", store.EventObject{APIVersion: "example.com/v1", Kind: "Widget", Name: "w"}
		over, still, also := key("", "events", "over"), key("", "events", "still"),
			store.Key{Space: "shop", Resource: "events", Name: "wide"}
		c.says("a", over, warning(nil, "over", 1))
		c.says("a", still, warning(nil, "still", 1))
		c.says("a", also, wide)
		c.eventually("they are shown", func() bool { return len(c.happenings()) == 3 })
		c.stop()
		c.mu.Lock()
		delete(c.reports["a"], over)
		delete(c.reports["a"], also)
		revision := c.revision
		c.mu.Unlock()
		c.restart()
		defer c.stop()
		c.eventually("what is over goes", func() bool { return len(c.happenings()) == 1 })
		c.eventually("all are looked at", func() bool {
			c.s.mu.Lock()
			defer c.s.mu.Unlock()
			return len(c.s.reportedEvents.news) == 0
		})
		c.mu.Lock()
		n := c.revision - revision
		c.mu.Unlock()
		if now := c.happenings(); !now["Deployment/web uid-web x1 Failed kubelet@a: still"] || n != 2 {
			t.Errorf("%v, and %d writes", now, n)
		}
	})
}

// A relay shows at the placed object what is about a Pod of it, too; its agent passes on one of the two.
func TestARelayPassesAnEventOnOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t)
		pod, event := key("", "pods", "web-0"), key("", "events", "web-0.x")
		about := &store.EventObject{APIVersion: "v1", Kind: "Pod", Name: "web-0"}
		passed := func() (n int) {
			c.mu.Lock()
			defer c.mu.Unlock()
			for k, o := range c.objects {
				if k.Resource == "events" && o["reportingComponent"] != "skerry" {
					n++
				}
			}
			return n
		}
		c.place(web, "apps/v1", "Deployment", "a")
		c.says("a", pod, podReport("Pending"))
		c.eventually("the pod is mirrored", func() bool { return c.exists(pod) })
		c.says("a", event, warning(about, "no image", 2))
		c.eventually("at both", func() bool { return len(c.happenings()) == 2 })
		if n := passed(); n != 1 {
			t.Errorf("%d events are passed on", n)
		}
		c.says("a", event, nil)
		c.eventually("none", func() bool { return len(c.happenings()) == 0 })
		many := []string{"a"}
		for i := range mirrorTargets {
			many = append(many, fmt.Sprint("t", i))
		}
		c.place(web, "apps/v1", "Deployment", many...)
		c.says("a", event, warning(about, "no image", 4))
		c.eventually("at the Deployment alone", func() bool { return len(c.happenings()) == 1 })
		if n := passed(); n != 1 {
			t.Errorf("%d events are passed on where no Pods are shown", n)
		}
	})
}
