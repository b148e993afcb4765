package admin

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/server/api/v1alpha1"
)

func TestATraceIsPrintedForPeople(t *testing.T) {
	in := func(d time.Duration) *metav1.Duration { return &metav1.Duration{Duration: d} }
	for want, r := range map[string]*v1alpha1.ServiceReview{
		`Service   shop/db-0.db, port 5432
From      nordic/tromso, as pod web/front-0
Answered  by oslo, pod db-0, in 24.3ms

AT              DECIDES    TOOK     WHY
nordic/tromso   Gateway    24.3ms   callers come to the agent
the center      Asks       12.9ms   it asks oslo
oslo            Answered   <0.1ms   accepts (pod db-0)
`: {
			Spec: v1alpha1.ServiceReviewSpec{Namespace: "shop", Service: "db", Host: "db-0", From: "nordic/tromso"},
			Status: v1alpha1.ServiceReviewStatus{Answered: true, Reason: "Answered", Site: "oslo", Pod: "db-0", Port: 5432,
				As: "web/front-0", Took: in(24321 * time.Microsecond), Hops: []v1alpha1.ServiceHop{
					{At: "nordic/tromso", Reason: "Gateway", Message: "callers come to the agent", Took: in(24321 * time.Microsecond)},
					{At: ".", Reason: "Asks", Message: "it asks oslo", Took: in(12900 * time.Microsecond)},
					{At: "oslo", Reason: "Answered", Message: "accepts", Pod: "db-0", Took: in(9 * time.Microsecond)}}},
		},
		`Service   shop/db
From      paris
Answered  no
Reason    NoName: the site has not even \x1b[31mthe name
Next      let something of the space run there, or say skerry.dev/reach: Space

AT      DECIDES   TOOK   WHY
paris   NoName           it has not
`: {
			Spec: v1alpha1.ServiceReviewSpec{Namespace: "shop", Service: "db", From: "paris"},
			Status: v1alpha1.ServiceReviewStatus{Reason: "NoName", Message: "the site has not even \x1b[31mthe name",
				Hops: []v1alpha1.ServiceHop{{At: "paris", Reason: "NoName", Message: "it has not"}}},
		},
	} {
		var out strings.Builder
		if err := printTrace(&out, r); err != nil {
			t.Fatal(err)
		}
		if strings.ContainsRune(out.String(), '\x1b') {
			t.Errorf("a site writes to the terminal: %q", out.String())
		}
		if want = strings.ReplaceAll(want, `\x1b[31m`, "[31m"); strings.ReplaceAll(out.String(), "\x1b", "") != want {
			t.Errorf("got\n%s\nwant\n%s", out.String(), want)
		}
	}
}
