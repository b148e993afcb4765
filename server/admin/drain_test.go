package admin

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/placement"
)

// What waits for a turn is not said to move. It is left all the same.
func TestADrainSaysWhatMoves(t *testing.T) {
	var out strings.Builder
	w := drainWatch{options: DrainOptions{Out: &out}, moves: map[string]string{}}
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
}
