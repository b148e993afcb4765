package admin

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// Status prints the center's direct children: who is connected, what is behind and since when; wide, also what crossed their links today.
func Status(ctx context.Context, o ListOptions) error {
	wide := o.Output == "wide"
	if wide {
		o.Output = ""
	}
	list, err := listRoot(ctx, o, syncTargets)
	if err != nil || list == nil {
		return err
	}
	if len(list) == 0 {
		fmt.Fprintln(o.Out, "No site has joined yet. Make a token with: skerry token create")
		return nil
	}
	w := tabwriter.NewWriter(o.Out, 0, 8, 3, ' ', 0)
	fmt.Fprint(w, "NAME\tCONNECTED\tSYNCED\tKIND\tBELOW\tOBJECTS\tLAST-SEEN\tVERSION\tTRANSPORT")
	if wide {
		fmt.Fprint(w, "\tLINK\tDOWN-TODAY\tUP-TODAY\tPENDING")
	}
	fmt.Fprintln(w)
	var problems []string
	for _, t := range list {
		connected, why := condition(t.Object, v1alpha1.ConditionConnected)
		synced, behind := condition(t.Object, v1alpha1.ConditionSynced)
		kind := "cluster"
		if relay, _, _ := unstructured.NestedBool(t.Object, "status", "relay"); relay {
			kind = "relay"
		}
		objects, _, _ := unstructured.NestedInt64(t.Object, "status", "objects")
		transport, _, _ := unstructured.NestedString(t.Object, "status", "transport")
		if connected != "True" {
			transport = ""
		}
		version, _, _ := unstructured.NestedString(t.Object, "status", "kubernetesVersion")
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%d\t%s\t%s\t%s", t.GetName(), orElse(connected, "Unknown"), orElse(synced, "Unknown"),
			kind, below(t.Object, connected == "True"), objects, lastSeen(t.Object), version, transport)
		if wide {
			fmt.Fprint(w, linkColumns(t.Object, time.Now()))
		}
		fmt.Fprintln(w)
		held, err := heldOf(&t)
		if err != nil {
			return err
		}
		if connected != "True" {
			problems = append(problems, fmt.Sprintf("%s is not connected: %s", t.GetName(), orElse(why, "its agent has not dialled yet")))
		}
		switch {
		case held != nil:
			problems = append(problems, fmt.Sprintf("%s holds (%s): %s; see what accepting would do: skerry target accept %s --dry-run",
				held.Name, held.Reason, held.Message, held.Name))
		case connected == "True" && synced == "False":
			problems = append(problems, fmt.Sprintf("%s is not synced: %s", t.GetName(), behind))
		}
		if healthy, why := condition(t.Object, v1alpha1.ConditionSubtreeHealthy); healthy == "False" {
			problems = append(problems, fmt.Sprintf("%s is a relay with trouble below: %s", t.GetName(), why))
		}
		if unique, why := condition(t.Object, v1alpha1.ConditionUnique); unique == "False" {
			problems = append(problems, fmt.Sprintf("%s is there twice: %s", t.GetName(), why))
		}
		if kept, why := condition(t.Object, v1alpha1.ConditionReportsKept); kept == "False" {
			problems = append(problems, fmt.Sprintf("%s reports too much: %s", t.GetName(), why))
		}
		if within, why := condition(t.Object, v1alpha1.ConditionWithinBudget); within == "False" {
			problems = append(problems, fmt.Sprintf("%s has used up its link's budget: %s", t.GetName(), why))
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, p := range problems {
		fmt.Fprintln(o.Out, p)
	}
	return nil
}

func lastSeen(obj map[string]any) string {
	text, _, _ := unstructured.NestedString(obj, "status", "lastSeen")
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return "never"
	}
	return age(metav1.NewTime(t)) + " ago"
}

// below is how many of the sites below a relay are connected, and of how many; what a relay that is not connected itself last said of that is old.
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

// linkColumns are the class of a target's link, and what crossed it today or waits to: a status of an earlier day says nothing of today.
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
