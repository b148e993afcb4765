package admin

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/duration"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// Status prints the center's direct children: who is connected, what is behind and since when;
// wide, also what crossed their links today.
func Status(ctx context.Context, o ListOptions) error {
	var found problems
	below, err := targetTable(ctx, o, &found)
	if err != nil || !below {
		return err
	}
	if c, err := open(o.Kubeconfig); err == nil {
		if what := notReady(ctx, c.config); what != "" {
			found.add(
				"the center is not ready: %s; its log says why (a full disk is one cause of a store that is not)",
				what,
			)
		}
	}
	for _, p := range found.lines {
		fmt.Fprintln(o.Out, p)
	}
	return unknownAgents(ctx, o)
}

// ListTargets prints the center's direct children as Status does, without what is said below.
func ListTargets(ctx context.Context, o ListOptions) error {
	_, err := targetTable(ctx, o, &problems{})
	return err
}

// targetTable prints a table of the targets and adds to found what is wrong with them. It is false
// where no problems are to be printed below it: there are no targets, or it is no table.
func targetTable(ctx context.Context, o ListOptions, found *problems) (below bool, err error) {
	list, err := listRoot(ctx, o, syncTargets)
	if err != nil || list == nil {
		return false, err
	}
	if len(list) == 0 {
		fmt.Fprintln(o.Out, "No site has joined yet. Make a token with: skerry token create")
		return false, unknownAgents(ctx, o)
	}
	_, wide := isTable(o.Output)
	now := time.Now()
	w := tabwriter.NewWriter(o.Out, 0, 8, 3, ' ', 0)
	fmt.Fprint(w, "NAME\tCONNECTED\tSYNCED\tKIND\tBELOW\tDESIRED\tAPPLIED\tREFUSED\tLAST-SEEN\tVERSION\tTRANSPORT")
	if wide {
		fmt.Fprint(w, "\tLINK\tDOWN-TODAY\tUP-TODAY\tPENDING")
	}
	fmt.Fprintln(w)
	for i := range list {
		var t v1alpha1.SyncTarget
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(list[i].Object, &t); err != nil {
			return false, fmt.Errorf("read site %s: %w", list[i].GetName(), err)
		}
		fmt.Fprint(w, columns(&t, list[i].Object, now))
		if wide {
			fmt.Fprint(w, linkColumns(list[i].Object, now))
		}
		fmt.Fprintln(w)
		found.of(&t, now)
	}
	return true, w.Flush()
}

// columns are the columns of a target but for those of its link.
func columns(t *v1alpha1.SyncTarget, obj map[string]any, now time.Time) string {
	kind, st := "cluster", &t.Status
	if st.Relay {
		kind = "relay"
	}
	transport := st.Transport
	connected := apimeta.IsStatusConditionTrue(st.Conditions, v1alpha1.ConditionConnected)
	if !connected {
		transport = ""
	}
	synced, _ := condition(obj, v1alpha1.ConditionSynced)
	return fmt.Sprintf(
		"%s\t%s\t%s\t%s\t%s\t%d\t%d\t%d\t%s\t%s\t%s",
		t.Name,
		connection(t, now),
		orElse(synced, "Unknown"),
		kind,
		below(obj, connected),
		st.Objects,
		st.Applied,
		st.Refused,
		lastSeen(t, now),
		st.KubernetesVersion,
		transport,
	)
}

// silence is how long nothing has been heard of a connected target; it is false while it is heard.
func silence(t *v1alpha1.SyncTarget, now time.Time) (time.Duration, bool) {
	c := apimeta.FindStatusCondition(t.Status.Conditions, v1alpha1.ConditionConnected)
	if c == nil || c.Status != metav1.ConditionTrue || c.Reason != v1alpha1.ReasonSilent || t.Status.LastSeen == nil {
		return 0, false
	}
	return max(0, now.Sub(t.Status.LastSeen.Time)), true
}

// connection is the condition Connected, with how long the target has been silent.
func connection(t *v1alpha1.SyncTarget, now time.Time) string {
	if d, silent := silence(t, now); silent {
		return "Silent " + duration.HumanDuration(d)
	}
	if c := apimeta.FindStatusCondition(t.Status.Conditions, v1alpha1.ConditionConnected); c != nil {
		return string(c.Status)
	}
	return string(metav1.ConditionUnknown)
}

// lastSeen is when a target was last heard of: now while it is connected. A time that lies in the
// future, because this machine's clock is behind, is now, too.
func lastSeen(t *v1alpha1.SyncTarget, now time.Time) string {
	_, silent := silence(t, now)
	switch last := t.Status.LastSeen; {
	case apimeta.IsStatusConditionTrue(t.Status.Conditions, v1alpha1.ConditionConnected) && !silent:
		return "now"
	case last == nil:
		return "never"
	default:
		return duration.HumanDuration(max(0, now.Sub(last.Time))) + " ago"
	}
}

// below is how many of the sites below a relay are connected, and of how many; what a relay that is
// not connected itself last said of that is old.
func below(obj map[string]any, connected bool) string {
	targets, known, _ := unstructured.NestedInt64(obj, "status", "below", "targets")
	if !known {
		return "-"
	}
	reached, _, _ := unstructured.NestedInt64(obj, "status", "below", "connected")
	if !connected {
		return fmt.Sprintf("?/%d", targets)
	}
	return fmt.Sprintf("%d/%d", reached, targets)
}

// linkColumns are the class of a target's link, and what crossed it today or waits to: a status of
// an earlier day says nothing of today.
func linkColumns(obj map[string]any, now time.Time) string {
	class, _, _ := unstructured.NestedString(obj, "spec", "link", "class")
	day, _, _ := unstructured.NestedString(obj, "status", "bytesToday", "date")
	down, up := int64(0), int64(0)
	if day == now.UTC().Format(time.DateOnly) {
		down, _, _ = unstructured.NestedInt64(obj, "status", "bytesToday", "down")
		up, _, _ = unstructured.NestedInt64(obj, "status", "bytesToday", "up")
	}
	pending, _, _ := unstructured.NestedInt64(obj, "status", "pendingBytes")
	return fmt.Sprintf("\t%s\t%s\t%s\t%s", orElse(class, string(v1alpha1.LinkLAN)), size(down), size(up), size(pending))
}

// size is a number of bytes for people, to three digits.
func size(n int64) string {
	units, at, f := []string{"B", "kB", "MB", "GB", "TB"}, 0, float64(n)
	for ; f >= 999.5 && at < len(units)-1; at++ {
		f /= 1000
	}
	return fmt.Sprintf("%.3g %s", f, units[at])
}
