package apply

import (
	"errors"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/agent/target"
)

// fieldConflict is returned when fields belong to others on the target, and the policy leaves them
// to those.
type fieldConflict struct{ lost []target.Loss }

// Error names the others and the fields.
func (f *fieldConflict) Error() string {
	return "not applied, because " + describe(f.lost) +
		"; the Placement's spec.sync.whenDrifted is Report: set the fields back there, or list " +
		"them in retainFields, or choose Restore"
}

// conflictsOf returns the conflict of fields that an API server answered, nil when the error is
// another one.
func conflictsOf(err error) error {
	var status apierrors.APIStatus
	if !apierrors.IsConflict(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return nil
	}
	f := &fieldConflict{}
	for _, c := range status.Status().Details.Causes {
		if c.Type != metav1.CauseTypeFieldManagerConflict {
			continue
		}
		_, who, _ := strings.Cut(c.Message, `"`) // conflict with "kubectl" using v1
		who, _, _ = strings.Cut(who, `"`)
		f.lost = append(f.lost, target.Loss{Path: c.Field, By: who})
	}
	if len(f.lost) == 0 {
		return nil
	}
	slices.SortFunc(f.lost, func(a, b target.Loss) int { return strings.Compare(a.Path, b.Path) })
	return f
}

func isNotServed(err error) bool { return errors.Is(err, target.ErrNotServed) }
