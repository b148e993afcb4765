package summary

import (
	"testing"
	"testing/synctest"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/server/spaceapi/spaceapitest"
	"skerry.dev/skerry/store"
)

// What an operator writes while the center is about to write is not overwritten, and is the operator's
// from then on.
func TestAStatusIsNotWrittenOverWhatAnOperatorHasJustWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		boat := key("example.com", "boats", "mary")
		c := newCenter(t)
		c.place(boat, "example.com/v1", "Boat", "a")
		c.says("a", boat, &store.Report{OriginUID: "uid-mary", Status: status(`{"depth":1}`)})
		c.eventually("what only the target says is shown", func() bool { return num(c.status(boat)["depth"]) == 1 })
		c.stop()
		at, _ := c.Located(boat)
		at.Class = placement.Placed
		theirs, revision, err := c.s.foreignStatus(t.Context(), at)
		if theirs || err != nil {
			t.Fatal(theirs, err)
		}
		c.mu.Lock()
		o := spaceapitest.Clone(c.objects[boat])
		o["status"] = map[string]any{"phase": "Sailing"}
		o["metadata"].(map[string]any)["managedFields"] = []any{
			map[string]any{"manager": "captain", "fieldsV1": map[string]any{"f:status": map[string]any{}}},
		}
		c.commit(boat, o)
		c.mu.Unlock()
		err = c.s.writeStatusSince(t.Context(), at, "status", status(`{"depth":2}`), nil, revision)
		if !apierrors.IsConflict(err) || c.status(boat)["phase"] != "Sailing" {
			t.Errorf("%v: %v", err, c.status(boat))
		}
		if theirs, _, err = c.s.foreignStatus(t.Context(), at); !theirs || err != nil {
			t.Errorf("the operator's: %v, %v", theirs, err)
		}
	})
}
