package delivery

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/store"
)

// derives reports whether the object's annotation follows a record that stands elsewhere.
func derives(o *object) bool {
	return o.kind.order == store.ClassOther && (o.source == nil || o.source.kind != ofObject)
}

// wantedNote is what the derived annotation should say: where the object is. The last step of a
// hold is made by the write of where it is without the hold; when the annotation says that already,
// it is first set right, so that there is such a write.
func (d *Delivery) wantedNote(o *object) string {
	if h := d.holds[o]; h != nil && h.releasing {
		if released := d.released(o).derived(); o.note.record() != released {
			return released
		}
	}
	return d.effective(o).derived()
}

// noteDelay is how long a derived annotation waits, so that a move that is quick writes it once:
// the API server gives a Deployment whose annotations change another generation, which goes to its
// targets and back.
const noteDelay = time.Second

// note has the annotation of an object written when it is not right. The lock must be held.
func (d *Delivery) note(o *object) {
	if !o.present || o.leaving || !derives(o) || o.note.record() == d.wantedNote(o) && !o.ownAnnotations {
		return
	}
	if h := d.holds[o]; h != nil && h.releasing {
		d.notes.Add(o.key())
		return
	}
	d.notes.AddAfter(o.key(), noteDelay)
}

// annotate writes the derived annotation of one object, when it differs from where the object is.
func (d *Delivery) annotate(ctx context.Context, k store.Key) error {
	d.mu.RLock()
	o := d.find(k)
	if o == nil || o.leaving || !derives(o) {
		d.mu.RUnlock()
		return nil
	}
	if o.undecided && o.source != nil && len(o.source.regained) > 0 {
		d.mu.RUnlock()
		return fmt.Errorf("annotate %s: its namespace first tells what it has not left: %w", k, errUndecided)
	}
	want := d.wantedNote(o)
	same := o.note.record() == want && !o.ownAnnotations
	revision, apiVersion := o.revision, o.kind.apiVersion
	d.mu.RUnlock()
	if same {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"resourceVersion": strconv.FormatInt(revision, 10),
		"annotations": map[string]any{v1alpha1.AnnotationTargets: orNull(want), v1alpha1.AnnotationMove: nil,
			v1alpha1.AnnotationUndecided: nil},
	}})
	if err != nil {
		return fmt.Errorf("encode annotation: %w", err)
	}
	if _, err := d.cfg.API.Patch(ctx, k, apiVersion, "", patch); err != nil {
		return unlessGone(fmt.Errorf("annotate %s: %w", k, err))
	}
	return nil
}
