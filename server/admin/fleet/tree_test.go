package fleet

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/server/api/v1alpha1"
)

func TestTree(t *testing.T) {
	eight, six := int32(8), int32(6)
	relay := site("eu", now, "Connected=True/SessionOpen", "SubtreeHealthy=False/SitesHold: x")
	relay.Status.Relay = true
	relay.Status.Below = &v1alpha1.SyncTargetBelow{Troubled: 1, Targets: &eight, Connected: &six,
		First: []v1alpha1.SiteInTrouble{{Path: "fr/paris", Condition: "CenterTrusted", Reason: "CenterRegressed"}},
		Away: []v1alpha1.SiteAway{{Path: "fr/lyon/one", Since: metav1.NewTime(now.Add(-time.Hour))},
			{Path: "bern", Since: metav1.NewTime(now.Add(-time.Minute))}}}
	gone := site("us", now.Add(-2*time.Minute), "Connected=False/NoSession: x")
	gone.Status.Relay, gone.Status.Below = true, &v1alpha1.SyncTargetBelow{Targets: &six, Connected: &six}
	tree := Tree(snapshot(relay, site("oslo", now, "Connected=True/SessionOpen"), site("rome", time.Time{}),
		site("sofia", now.Add(-20*time.Second), "Connected=True/Silent"), gone))
	want := `NAME              KIND      STATE                       BELOW   SEEN
center:7443       center    ok                          9/19    -
├─ eu             relay     trouble below (SitesHold)   6/8     now
│  ├─ bern        site      not connected               -       60s ago
│  ├─ fr          relay     ok                          -       now
│  │  ├─ lyon     relay     ok                          -       now
│  │  │  └─ one   site      not connected               -       60m ago
│  │  └─ paris    site      holds (CenterRegressed)     -       -
│  └─ 3 sites more; all: skerry status --tree at this relay
├─ oslo           cluster   ok                          -       now
├─ rome           cluster   not joined                  -       never
├─ sofia          cluster   silent (Silent)             -       20s ago
└─ us             relay     not connected (NoSession)   ?/6     2m ago
   └─ 6 sites more; all: skerry status --tree at this relay`
	if got := printed(t, tree.Page(Clock{Now: now})); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	data, err := json.Marshal(tree)
	if err != nil || !strings.Contains(string(data), `"name":"lyon","kind":"relay"`) {
		t.Errorf("%v %s", err, data)
	}
}

// FuzzTree: whatever paths a relay names, the tree has each of them, and no more levels than may be.
func FuzzTree(f *testing.F) {
	f.Add("a/b/c", "a")
	f.Add(strings.Repeat("x/", 1000), "")
	f.Fuzz(func(t *testing.T, one, two string) {
		n := &Node{Kind: "relay"}
		n.place(&v1alpha1.SyncTargetBelow{Away: []v1alpha1.SiteAway{{Path: one}}, First: []v1alpha1.SiteInTrouble{{Path: two}}})
		if got := n.at(one, maxDepth); got.State != "not connected" {
			t.Errorf("%q is %q", one, got.State)
		}
		var levels func(*Node) int
		levels = func(n *Node) (most int) {
			for _, c := range n.Children {
				most = max(most, 1+levels(c))
			}
			return most
		}
		if depth := levels(n); depth > maxDepth+1 {
			t.Errorf("%d levels of %q", depth, one)
		}
		for _, r := range n.Page(Clock{}).Rows {
			if len(r.Cells) != 5 && len(r.Cells) != 1 {
				t.Errorf("a row of %d cells", len(r.Cells))
			}
		}
	})
}

func TestBelowColumn(t *testing.T) {
	twelve, nine := int32(12), int32(9)
	relay := &v1alpha1.SyncTargetBelow{Targets: &twelve, Connected: &nine}
	for _, c := range []struct {
		below     *v1alpha1.SyncTargetBelow
		condition string
		want      string
	}{
		{relay, "Connected=True/SessionOpen", "9/12"},
		{relay, "Connected=False/NoSession", "?/12"},
		{&v1alpha1.SyncTargetBelow{Troubled: 3}, "Connected=True/SessionOpen", "-"},
		{nil, "Connected=True/SessionOpen", "-"},
	} {
		s := site("a", now, c.condition)
		s.Status.Below = c.below
		if got := below(&s); got != c.want {
			t.Errorf("%v: %q, want %q", c.below, got, c.want)
		}
	}
}
