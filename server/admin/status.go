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

// Status prints the center's direct children: who is connected, what is behind and since when.
func Status(ctx context.Context, o ListOptions) error {
	list, err := listRoot(ctx, o, syncTargets)
	if err != nil || list == nil {
		return err
	}
	if len(list) == 0 {
		fmt.Fprintln(o.Out, "No site has joined yet. Make a token with: skerry token create")
		return nil
	}
	w := tabwriter.NewWriter(o.Out, 0, 8, 3, ' ', 0)
	fmt.Fprintln(w, "NAME\tCONNECTED\tSYNCED\tKIND\tOBJECTS\tLAST-SEEN\tVERSION")
	var problems []string
	for _, t := range list {
		connected, why := condition(t.Object, v1alpha1.ConditionConnected)
		synced, behind := condition(t.Object, v1alpha1.ConditionSynced)
		kind := "cluster"
		if relay, _, _ := unstructured.NestedBool(t.Object, "status", "relay"); relay {
			kind = "relay"
		}
		objects, _, _ := unstructured.NestedInt64(t.Object, "status", "objects")
		version, _, _ := unstructured.NestedString(t.Object, "status", "kubernetesVersion")
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%s\t%s\n", t.GetName(), orElse(connected, "Unknown"), orElse(synced, "Unknown"),
			kind, objects, lastSeen(t.Object), version)
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
