package observe

import (
	"time"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store/compactmap"
)

// recentDeletes are delivered objects whose deletion was seen a moment ago. A write that was
// answered before the deletion may be recorded only now, and the record must not outlive its
// object.
type recentDeletes struct {
	order []deletion // by time
	uids  compactmap.Map[string, deletion]
}

type deletion struct {
	uid     string
	running bool // no finished Job or Pod
	at      time.Time
}

// latelyTime is more than the answer to a write may take.
const latelyTime = time.Minute

// add records the deletion of a delivered object.
func (l *recentDeletes) add(live *target.Object, running bool) {
	now := time.Now()
	l.prune(now)
	if live.OriginUID() == "" || live.ControllerUID() != "" {
		return
	}
	d := deletion{live.Metadata.UID, running, now}
	l.order = append(l.order, d)
	l.uids.Put(d.uid, d)
}

func (l *recentDeletes) prune(now time.Time) {
	n := 0
	for n < len(l.order) && now.Sub(l.order[n].at) > latelyTime {
		l.uids.Delete(l.order[n].uid)
		n++
	}
	l.order = l.order[n:]
	if len(l.order) == 0 {
		l.order = nil
	}
}

func (l *recentDeletes) find(uid string) (deletion, bool) {
	return l.uids.Find(uid)
}
