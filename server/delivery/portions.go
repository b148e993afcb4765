package delivery

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/tunnel/variant"
)

// addPortions says what each target is given of an autoscaler or a disruption budget that is divided. It reads the
// body that is sent: the catalog does not have these numbers.
func (d *Delivery) addPortions(ctx context.Context, r *review) error {
	body, _, err := d.Rendered(ctx, r.divided)
	if err != nil {
		return fmt.Errorf("render %s: %w", r.divided, err)
	}
	for i := range r.status.Targets {
		t := &r.status.Targets[i]
		if !slices.Contains(r.on, t.Name) {
			continue
		}
		if t.Portion, err = portionOf(body, t.Name); err != nil {
			return fmt.Errorf("divide %s: %w", r.divided, err)
		}
	}
	return nil
}

// portionOf are the divided fields of a body as a target has them, nil where none is divided.
func portionOf(body []byte, target string) (map[string]int64, error) {
	shared, divided, err := variant.Share(body, target)
	if err != nil || !divided {
		return nil, err
	}
	var doc struct {
		Spec map[string]json.RawMessage `json:"spec"`
	}
	if err := json.Unmarshal(shared, &doc); err != nil {
		return nil, err
	}
	out := map[string]int64{}
	for _, field := range v1alpha1.DividedFields() {
		var n int64
		if text, has := doc.Spec[field]; has && json.Unmarshal(text, &n) == nil { // a percentage is not divided
			out[field] = n
		}
	}
	return out, nil
}
