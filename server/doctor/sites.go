package doctor

import (
	"context"
	"fmt"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/pager"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/doctor"
	"skerry.dev/skerry/tunnel/doctor/parent"
)

var siteFaults = []doctor.Fault{neverConnected, notConnected, siteSilent, twoAgents, siteHolds, siteDeletions,
	siteClock, siteCertificate, siteStore, siteTarget, siteReplaced, siteBudget, siteReports, siteBelow, siteRefuses,
	siteVersion, credentialsRefused}

// maxSites bounds the sites that findings name; the others are counted.
const maxSites = 50

func (w *workstation) sites(ctx context.Context) (out []doctor.Finding) {
	if w.config == nil {
		return one(doctor.Skip("no center runs"))
	}
	now, sites, faulty := time.Now(), 0, 0
	err := w.each(ctx, "synctargets", func(u *unstructured.Unstructured) error {
		var t v1alpha1.SyncTarget
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &t); err != nil {
			return fmt.Errorf("read site %s: %w", u.GetName(), err)
		}
		sites++
		found := w.site(&t, now)
		if len(found) > 0 {
			faulty++
		}
		if faulty <= maxSites {
			for _, f := range found {
				out = append(out, f.On(t.Name))
			}
		}
		return nil
	})
	switch {
	case err != nil:
		return one(unlisted("SyncTargets", err))
	case len(out) == 0:
		return one(doctor.Good("all %d", sites))
	case faulty > maxSites:
		out = append(out, doctor.Skip("%d more sites are in trouble; see skerry status", faulty-maxSites))
	}
	return out
}

// conditionFaults are the faults behind conditions of a connected site that are False.
var conditionFaults = []struct {
	kind  string
	fault doctor.Fault
	fails bool
}{
	{v1alpha1.ConditionClockInSync, siteClock, true},
	{v1alpha1.ConditionCertificateValid, siteCertificate, true},
	{v1alpha1.ConditionStoreHealthy, siteStore, true},
	{v1alpha1.ConditionTargetReachable, siteTarget, true},
	{v1alpha1.ConditionClusterUnchanged, siteReplaced, false},
	{v1alpha1.ConditionWithinBudget, siteBudget, false},
	{v1alpha1.ConditionReportsKept, siteReports, false},
	{v1alpha1.ConditionSubtreeHealthy, siteBelow, false},
}

// site returns what is wrong with a site. What follows from something graver is left out: what one
// that is not connected last said, and what one that holds does not do.
func (w *workstation) site(t *v1alpha1.SyncTarget, now time.Time) (out []doctor.Finding) {
	st := &t.Status
	connected := apimeta.FindStatusCondition(st.Conditions, v1alpha1.ConditionConnected)
	unique := apimeta.FindStatusCondition(st.Conditions, v1alpha1.ConditionUnique)
	switch {
	case connected == nil, connected.Reason == "NoSession" && st.LastSeen == nil:
		return one(neverConnected.Warns("nothing has come from it yet"))
	case unique != nil && unique.Status == metav1.ConditionFalse:
		return one(twoAgents.Fails("%s", unique.Message))
	case st.Held != nil && st.Held.Reason == tunnel.DeletionsHeld:
		return one(siteDeletions.Fails("%d of %d objects: %s", st.Held.Deletions, st.Held.Objects, st.Held.Message).
			Do("see what would be deleted: skerry target accept %s --dry-run", t.Name))
	case st.Held != nil:
		return one(siteHolds.Fails("%s", st.Held.Message).
			Do("see what accepting would do: skerry target accept %s --dry-run", t.Name))
	case connected.Status != metav1.ConditionTrue:
		return one(notConnected.Fails("%s%s", connected.Message, lastSeen(st.LastSeen, now)))
	case connected.Reason == v1alpha1.ReasonSilent:
		return one(siteSilent.Warns("%s%s", connected.Message, lastSeen(st.LastSeen, now)))
	}
	for _, known := range conditionFaults {
		c := apimeta.FindStatusCondition(st.Conditions, known.kind)
		switch {
		case c == nil || c.Status != metav1.ConditionFalse:
		case known.fails:
			out = append(out, known.fault.Fails("%s", c.Message))
		default:
			out = append(out, known.fault.Warns("%s", c.Message))
		}
	}
	if skew, ok := parent.Skew(st.AgentVersion, w.Version); ok && (skew > 0 || skew < -1) {
		out = append(out, siteVersion.Warns("the site runs %s, this is %s", st.AgentVersion, w.Version))
	}
	if len(out) == 0 && st.Refused > 0 {
		out = append(out, siteRefuses.Warns("%s", st.RefusedText()))
	}
	return out
}

func lastSeen(at *metav1.Time, now time.Time) string {
	if at == nil {
		return ""
	}
	return fmt.Sprintf(" (last seen %s ago)", max(0, now.Sub(at.Time)).Round(time.Second))
}

func (w *workstation) spaces(ctx context.Context) (out []doctor.Finding) {
	if w.config == nil {
		return one(doctor.Skip("no center runs"))
	}
	spaces := 0
	err := w.each(ctx, "spaces", func(u *unstructured.Unstructured) error {
		var s v1alpha1.Space
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &s); err != nil {
			return fmt.Errorf("read space %s: %w", u.GetName(), err)
		}
		spaces++
		c := apimeta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionWithinQuota)
		if c != nil && c.Status == metav1.ConditionFalse {
			out = append(out, spaceQuota.Warns("%s", c.Message).On(s.Name))
		}
		return nil
	})
	switch {
	case err != nil:
		return one(unlisted("Spaces", err))
	case len(out) == 0:
		return one(doctor.Good("all %d", spaces))
	}
	return out
}

// each visits the objects of a kind of root, page by page.
func (w *workstation) each(ctx context.Context, plural string, visit func(*unstructured.Unstructured) error) error {
	client, err := dynamic.NewForConfig(w.config)
	if err != nil {
		return err
	}
	resource := client.Resource(v1alpha1.GroupVersion.WithResource(plural))
	page := func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return resource.List(ctx, o) }
	return pager.New(page).EachListItem(ctx, metav1.ListOptions{}, func(o runtime.Object) error {
		return visit(o.(*unstructured.Unstructured))
	})
}
