package variant

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
)

// SharesAnnotation stands on the base of a workload whose replicas are divided: how many each target
// has, by its name.
const SharesAnnotation = "skerry.dev/shares"

// maxShares bounds the targets that a base names.
const maxShares = 10_000

// ScalesAnnotation stands on the base of an autoscaler whose bounds are divided: the least and the most replicas at
// each target, by its name.
const ScalesAnnotation = "skerry.dev/scales"

// BudgetsAnnotation stands on the base of a disruption budget that is divided: minAvailable or maxUnavailable at each
// target, by its name.
const BudgetsAnnotation = "skerry.dev/budgets"

// StopsAnnotation stands on the base of a CronJob that leaves some targets when its Jobs have ended: at which it is
// suspended.
const StopsAnnotation = "skerry.dev/stops"

// Share gives a target its share of the replicas of a base, none where the base does not name it; of an autoscaler
// the replicas that it may have there, one where the base does not name it; of a disruption budget what it keeps
// there, all of it where the base does not name it; a CronJob is suspended where the base says so. Of several names
// of the target, the first that the base has counts: after a rename, bases of before have the old one. It reports
// false, and returns the base as it is, where the replicas are not divided. The result does not tell the shares of
// others.
func Share(base []byte, names ...string) ([]byte, bool, error) {
	if !mayDivide(base) {
		return base, false, nil
	}
	decoded, err := decode(base)
	doc, ok := decoded.(map[string]any)
	if err != nil || !ok {
		return base, false, fmt.Errorf("decode the base: %w", cmp.Or(err, errors.New("it is no object")))
	}
	meta, _ := doc["metadata"].(map[string]any)
	notes, _ := meta["annotations"].(map[string]any)
	spec, _ := doc["spec"].(map[string]any)
	replicas, divided, err := shareOf[uint32](notes, SharesAnnotation, names)
	scale, scaled, errScale := shareOf[[2]uint32](notes, ScalesAnnotation, names)
	budget, budgeted, errBudget := shareOf[map[string]uint32](notes, BudgetsAnnotation, names)
	stops, stopped, errStops := shareOf[bool](notes, StopsAnnotation, names)
	switch {
	case cmp.Or(err, errScale, errBudget, errStops) != nil:
		return base, false, cmp.Or(err, errScale, errBudget, errStops)
	case !divided && !scaled && !budgeted && !stopped:
		return base, false, nil
	case spec == nil:
		return base, false, errors.New("an annotation divides the replicas of an object without spec")
	}
	if stops {
		spec["suspend"] = true
	}
	if divided {
		spec["replicas"] = json.Number(fmt.Sprint(replicas))
	}
	if scaled {
		if scale[1] == 0 { // it is not named
			scale = [2]uint32{1, 1}
		}
		spec["minReplicas"], spec["maxReplicas"] = json.Number(fmt.Sprint(scale[0])), json.Number(fmt.Sprint(scale[1]))
	}
	for _, field := range []string{"minAvailable", "maxUnavailable"} {
		if n, is := budget[field]; is {
			spec[field] = json.Number(fmt.Sprint(n))
		}
	}
	return encode(doc), true, nil
}

// mayDivide reports whether one of the annotations may stand on a base.
func mayDivide(base []byte) bool {
	for _, annotation := range []string{SharesAnnotation, ScalesAnnotation, BudgetsAnnotation, StopsAnnotation} {
		if bytes.Contains(base, []byte(annotation)) {
			return true
		}
	}
	return false
}

// shareOf takes an annotation off that says what each target has, and returns what one has that goes by these
// names: the zero value where it is not named. It reports false where there is no such annotation.
func shareOf[T any](notes map[string]any, annotation string, names []string) (share T, divided bool, err error) {
	text, divided := notes[annotation].(string)
	if !divided {
		return share, false, nil
	}
	var shares map[string]T
	if err := json.Unmarshal([]byte(text), &shares); err != nil {
		return share, false, fmt.Errorf("decode annotation %s: %w", annotation, err)
	}
	if len(shares) > maxShares {
		return share, false, fmt.Errorf("annotation %s names %d targets, at most %d", annotation, len(shares), maxShares)
	}
	delete(notes, annotation)
	for _, name := range names {
		if is, named := shares[name]; named {
			return is, true, nil
		}
	}
	return share, true, nil
}
