package delivery

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/exchange"
)

// A Service may be called from the targets that its space may use, and from those alone: one that the space is not
// offered looks as one that there is not, and so does a Service of another space.
func TestWhatMayBeTraced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", m{v1alpha1.LabelTarget: "b"})
		c.namespace("front", nil)
		c.web("")
		service := c.reaching(v1alpha1.ReachSpace)
		c.front("a")
		named := NamedOf(c.d)
		c.eventually("the name is at a, the Service at b", func() bool {
			at, reaches := named(service, c.uidOf(service))
			slices.Sort(at)
			return reaches && slices.Equal(at, []string{"a", "b"})
		})
		callable := CallableOf(c.d)
		if uid, err := callable(service, "a"); err != nil || uid != c.uidOf(service) {
			t.Errorf("%q, %v", uid, err)
		}
		if at, reaches := named(service, "another"); len(at) > 0 || reaches {
			t.Errorf("another Service of the name is at %v", at)
		}
		other := service
		other.Space = "other"
		none := service
		none.Name = "none"
		for name, of := range map[string]store.Key{"another space": other, "no Service": none} {
			if _, err := callable(of, "a"); !apierrors.IsNotFound(err) || !strings.Contains(err.Error(), `services "`+of.Name+`" not found`) {
				t.Errorf("%s: %v", name, err)
			}
		}
		_, nowhere := callable(service, "nosuch")
		if nowhere == nil || !apierrors.IsBadRequest(nowhere) || !strings.Contains(nowhere.Error(), "it has a, b") {
			t.Errorf("no target: %v", nowhere)
		}
		c.target("hidden", m{"team": "other"})
		c.put(rootKey("spaces", "shop"), obj("skerry.dev/v1alpha1", "Space", meta("shop"), "spec", m{"locationSelector": m{
			"matchExpressions": []any{m{"key": "team", "operator": "DoesNotExist"}}}}))
		c.eventually("it is not offered", func() bool {
			_, err := callable(service, "hidden")
			return err != nil && strings.ReplaceAll(err.Error(), "hidden", "nosuch") == nowhere.Error()
		})
	})
}

// A target that takes no callers is named as that.
func TestATraceNamesClosedTargets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", m{v1alpha1.LabelTarget: "b"})
		c.web("")
		service := c.reaching(v1alpha1.ReachSpace)
		closed := ClosedOf(c.d)
		c.eventually("it is at b", func() bool { return c.annotation(service) == "b" })
		if at := closed("a", service); len(at) > 0 {
			t.Errorf("%v are closed", at)
		}
		c.relayThat("b", m{"allow": m{exchange.Calling: false}})
		c.eventually("b is closed", func() bool {
			return slices.Equal(closed("a", service), []string{"b"}) && len(closed("b", service)) == 0
		})
	})
}
