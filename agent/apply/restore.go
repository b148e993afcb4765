package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
)

// restore applies the desired fields again.
func (a *Applier) restore(
	ctx context.Context,
	t *task,
	live *target.Object,
	whole map[string]any,
	lost []target.Loss,
) error {
	body, err := a.leaving(ctx, t, live, whole)
	if err != nil {
		return err
	}
	now, err := a.put(ctx, t, body,
		target.Applying{UID: t.record.UID, ResourceVersion: live.Metadata.ResourceVersion})
	if err != nil {
		return a.refusedUpdate(ctx, t, err)
	}
	times, wait := a.conflicts.wrote(t.Key)
	a.Log.Info("object was changed on the target, set back", "key", t.Key, "what", describe(lost), "times", times)
	a.record(t, now, t.record.Created)
	if times < contested {
		return nil
	}
	a.Reports.Refused(t.Key, t.head.OriginUID(), store.ReportError{Reason: "Contested", Message: fmt.Sprintf(
		"%s, again and again; it was set back %d times and will be every %s: stop the other one, "+
			"or list the field in the Placement's spec.sync.retainFields",
		describe(lost),
		times,
		wait.Round(time.Second),
	)})
	return &laterError{wait}
}

// reportDrift reports a drift. Fields that others have set back to the desired values are shared
// with them, which changes no field.
func (a *Applier) reportDrift(
	ctx context.Context,
	t *task,
	live *target.Object,
	whole map[string]any,
	lost []target.Loss,
) error {
	if !slices.ContainsFunc(lost, func(l target.Loss) bool { return l.By == "" }) {
		body, err := a.leaving(ctx, t, live, whole)
		if err != nil {
			return err
		}
		now, err := a.put(ctx, t, body,
			target.Applying{UID: t.record.UID, ResourceVersion: live.Metadata.ResourceVersion, Yield: true})
		if err == nil {
			a.record(t, now, t.record.Created)
			return nil
		}
		var others *fieldConflict
		if err = a.refusedUpdate(ctx, t, err); !errors.As(err, &others) {
			return err
		}
		lost = others.lost
	}
	a.drifts.handle(t.Key, live.ContentSum())
	a.Reports.Refused(t.Key, t.head.OriginUID(), store.ReportError{Reason: "Drifted", Message: describe(lost) +
		"; the Placement's spec.sync.whenDrifted is Report, so it stays until somebody sets it " +
		"back there or changes it here"})
	return nil
}

// describe says who changed what, in a bounded text.
func describe(lost []target.Loss) string {
	by := map[string][]string{}
	var order []string
	for _, l := range lost[:min(len(lost), maxNamed)] {
		if by[l.By] == nil {
			order = append(order, l.By)
		}
		by[l.By] = append(by[l.By], l.Path)
	}
	var parts []string
	for _, who := range order {
		what := strings.Join(by[who], ", ")
		if who == "" {
			parts = append(parts, what+" was removed on the target")
		} else {
			parts = append(parts, fmt.Sprintf("%q has changed %s on the target", who, what))
		}
	}
	if len(lost) > maxNamed {
		parts = append(parts, "and more")
	}
	return strings.Join(parts, "; ")
}

// laterError is returned when a key has to wait for its time.
type laterError struct{ wait time.Duration }

func (l *laterError) Error() string {
	return "set back only now and then, because somebody else keeps changing it"
}
