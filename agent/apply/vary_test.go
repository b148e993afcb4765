package apply

import (
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"skerry.dev/skerry/store"
)

// refusedVariants records what Customizers are told.
type refusedVariants struct {
	Variants
	by  []string
	why *store.ReportError
}

func (r *refusedVariants) Done(_ store.Key, by []string, why *store.ReportError) {
	r.by, r.why = by, why
}

// refusals records what is reported of objects.
type refusals struct {
	noReports
	last store.ReportError
}

func (r *refusals) Refused(_ store.Key, _ string, why store.ReportError) { r.last = why }

// A Customizer is told what the target refuses of its variant once the object's report says so, and nothing
// of what is not about the variant.
func TestACustomizerIsToldWhatATargetRefuses(t *testing.T) {
	workload := schema.GroupResource{Group: "apps", Resource: "deployments"}
	for name, c := range map[string]struct {
		err   error
		tries int
		want  string // what the object's report says after so many tries
		told  bool   // and whether a Customizer is told the same
	}{
		"invalid": {apierrors.NewBadRequest("no"), 1, "Invalid", true},
		"a field that no schema has": {&apierrors.StatusError{ErrStatus: metav1.Status{
			Code:    http.StatusInternalServerError,
			Message: "failed to create typed patch object: .spec.x: field not declared in schema",
		}}, onItsWay + 1, "Invalid", true},
		"quota":       {apierrors.NewForbidden(workload, "web", errors.New("exceeded quota")), 1, "QuotaExceeded", false},
		"the network": {errors.New("connection refused"), 4, "Unavailable", false},
	} {
		told, reported := &refusedVariants{}, &refusals{}
		a := New(Config{Variants: told, Reports: reported, Inventory: nothingApplied(t), Log: slog.New(slog.DiscardHandler)})
		k := key("deployments", "n", "web")
		a.queue.add(k, false)
		for try := range c.tries {
			if reported.last.Reason != "" || told.why != nil {
				t.Errorf("%s: %q is reported after %d tries, and of a Customizer %v", name, reported.last, try, told.why)
			}
			a.queue.kick(func(store.Key) bool { return true })
			if _, found, _ := a.queue.dequeue(); !found {
				t.Fatal("the object is not tried again")
			}
			a.retry(k, &variedError{[]string{"sites", "size"}, c.err})
		}
		if reported.last.Reason != c.want || (told.why != nil) != c.told {
			t.Fatalf("%s: reported is %q, and of a Customizer %v", name, reported.last, told.why)
		}
		if c.told && (*told.why != reported.last || !strings.HasSuffix(told.why.Message, "sites, size)") || told.by[1] != "size") {
			t.Errorf("%s: %v are told %q", name, told.by, told.why)
		}
	}
}
