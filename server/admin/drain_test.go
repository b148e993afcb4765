package admin

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/placement"
)

// What waits for a turn is not said to move. It is left all the same.
func TestADrainSaysWhatMoves(t *testing.T) {
	var out strings.Builder
	w := drainWatch{options: DrainOptions{Out: &out}, moves: map[string]string{}, blocked: map[string]string{}}
	move := func(object string, phase placement.Phase) v1alpha1.MoveUnderWay {
		return v1alpha1.MoveUnderWay{Object: object, From: []string{"paris"}, To: []string{"lyon"}, Phase: string(phase)}
	}
	st := &v1alpha1.SyncTarget{ObjectMeta: metav1.ObjectMeta{Name: "paris"}}
	st.Status.Moves = []v1alpha1.MoveUnderWay{move("web", placement.Waiting), move("db", placement.WaitsForTurn)}
	w.tellMoves(st)
	if out.String() != "moving web to lyon\n" || len(w.report.Left) != 2 {
		t.Errorf("said %q, left %+v", &out, w.report.Left)
	}
	st.Status.Moves = []v1alpha1.MoveUnderWay{move("db", placement.Waiting)}
	w.tellMoves(st)
	if !strings.Contains(out.String(), "moving db to lyon\n") || !strings.Contains(out.String(), "web has left\n") {
		t.Errorf("said %q", &out)
	}
	failed := move("db", placement.HookFailed)
	failed.Message = "hook save failed at paris"
	for _, phase := range []v1alpha1.MoveUnderWay{failed, move("db", placement.HookRunning), failed} {
		st.Status.Moves = []v1alpha1.MoveUnderWay{phase}
		w.tellMoves(st)
	}
	if n := strings.Count(out.String(), "blocked db: HookFailed: hook save failed at paris\n"); n != 1 {
		t.Errorf("said %d times that it is blocked: %q", n, &out)
	}
}

// --jobs is written where it says something else than the site; without it the site's word is told.
func TestADrainSaysWhatBecomesOfJobs(t *testing.T) {
	const restarts = "; Jobs that have begun there are stopped, and begin anew elsewhere"
	for name, c := range map[string]struct {
		is, jobs v1alpha1.DrainJobs
		said     string
		written  any
	}{
		"nothing is said":    {said: "cordoned"},
		"asked for":          {jobs: v1alpha1.DrainJobsRestart, said: "cordoned" + restarts, written: v1alpha1.DrainJobsRestart},
		"the site says so":   {is: v1alpha1.DrainJobsRestart, said: "cordoned" + restarts},
		"both":               {is: v1alpha1.DrainJobsRestart, jobs: v1alpha1.DrainJobsRestart, said: "cordoned" + restarts},
		"against the site's": {is: v1alpha1.DrainJobsRestart, jobs: v1alpha1.DrainJobsWait, said: "cordoned", written: v1alpha1.DrainJobsWait},
	} {
		t.Run(name, func(t *testing.T) {
			site := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{}}}
			if c.is != "" {
				site.Object["spec"] = map[string]any{"drain": map[string]any{"jobs": string(c.is)}}
			}
			patch, said, err := DrainOptions{Jobs: c.jobs}.patch(site)
			if err != nil || said != c.said {
				t.Fatalf("said %q, %v", said, err)
			}
			spec := patch["spec"].(map[string]any)
			drain, _ := spec["drain"].(map[string]any)
			if drain["jobs"] != c.written || spec["unschedulable"] != true {
				t.Errorf("written: %v", spec)
			}
		})
	}
	drained := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"unschedulable": true,
		"taints": []any{map[string]any{"key": v1alpha1.TaintDrain, "effect": "NoExecute"}}}}}
	patch, said, err := DrainOptions{Jobs: v1alpha1.DrainJobsRestart}.patch(drained)
	if err != nil || said != "already cordoned"+restarts || patch["spec"].(map[string]any)["taints"] != nil {
		t.Errorf("a drain that goes on: %q, %v, %v", said, patch, err)
	}
	if err := Drain(t.Context(), DrainOptions{Jobs: "Kill"}); err == nil || !strings.Contains(err.Error(), "write Wait or Restart") {
		t.Errorf("a word that means nothing: %v", err)
	}
}
