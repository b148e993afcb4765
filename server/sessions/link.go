package sessions

import (
	"fmt"
	"strconv"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/delta"
)

// policy is what an admin wants of a link.
type policy struct {
	class  delta.Class
	perDay int64 // 0: no budget
	quiet  quietHours
	said   string // the quiet hours as they were written
}

// policyOf reads spec.link of a SyncTarget, which the kube API has validated.
func policyOf(link *v1alpha1.Link) policy {
	if link == nil {
		return policy{}
	}
	p := policy{class: delta.Class(link.Class), quiet: parseQuietHours(link.QuietHours), said: link.QuietHours}
	if link.BytesPerDay != nil {
		p.perDay = link.BytesPerDay.Value()
	}
	return p
}

// use is how the link is to be used at a time when so many bytes of the budget are used.
func (p policy) use(at time.Time, used int64) tunnel.Link {
	return tunnel.Link{Class: p.class, Hold: p.perDay > 0 && used >= p.perDay && !p.quiet.at(at)}
}

// until says for people when what is held back will go.
func (p policy) until() string {
	if p.said == "" {
		return "at 00:00 UTC"
	}
	return "in the quiet hours (" + p.said + ") or at 00:00 UTC"
}

// quietHours are minutes of the day in UTC. The zero value is never.
type quietHours struct{ begin, end int }

const dayMinutes = 24 * 60

// parseQuietHours reads "HH:MM-HH:MM" with "Z" or an offset "+HH:MM" behind it. Anything else is
// never.
func parseQuietHours(s string) quietHours {
	const plain = len("HH:MM-HH:MM")
	if len(s) < plain || s[5] != '-' {
		return quietHours{}
	}
	begin, err1 := minutes(s[:5])
	end, err2 := minutes(s[6:plain])
	offset := 0
	var err3 error
	switch zone := s[plain:]; {
	case zone == "" || zone == "Z":
	case zone[0] == '+' || zone[0] == '-':
		if offset, err3 = minutes(zone[1:]); zone[0] == '-' {
			offset = -offset
		}
	default:
		return quietHours{}
	}
	if err1 != nil || err2 != nil || err3 != nil {
		return quietHours{}
	}
	utc := func(m int) int { return (m - offset + dayMinutes) % dayMinutes }
	return quietHours{utc(begin), utc(end)}
}

func minutes(s string) (int, error) {
	if len(s) != 5 || s[2] != ':' {
		return 0, fmt.Errorf("%q is not HH:MM", s)
	}
	h, err := strconv.ParseUint(s[:2], 10, 8)
	if err != nil {
		return 0, err
	}
	m, err := strconv.ParseUint(s[3:], 10, 8)
	if h > 23 || m > 59 {
		return 0, fmt.Errorf("%q is no time of a day", s)
	}
	return int(h)*60 + int(m), err
}

// at reports whether a time is in the quiet hours.
func (q quietHours) at(t time.Time) bool {
	t = t.UTC()
	m := t.Hour()*60 + t.Minute()
	if q.begin <= q.end {
		return q.begin <= m && m < q.end
	}
	return m >= q.begin || m < q.end
}

// budget says whether the link has bytes left today. A link without a budget has no such condition.
func budget(st *v1alpha1.SyncTarget, p policy, now tunnel.Link) {
	switch {
	case p.perDay == 0:
		apimeta.RemoveStatusCondition(&st.Status.Conditions, v1alpha1.ConditionWithinBudget)
	case now.Hold:
		set(
			st,
			v1alpha1.ConditionWithinBudget,
			metav1.ConditionFalse,
			"BudgetUsed",
			"daily budget used; statuses of Pods resume "+p.until(),
		)
	default:
		set(st, v1alpha1.ConditionWithinBudget, metav1.ConditionTrue, "BytesLeft", "nothing is held back on the link")
	}
}
