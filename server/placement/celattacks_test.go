package placement

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/labels"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/tunnel"
)

const ten = "[1,2,3,4,5,6,7,8,9,10]"

// largest is a target with as much as one may have.
func largest(name string) *Target {
	f := &Facts{KubernetesVersion: "v1.36.0", Properties: map[string]string{}}
	l := labels.Set{}
	for i := range tunnel.MaxProperties {
		f.Properties[fmt.Sprintf("%s%d", strings.Repeat("x", 240), i)] = strings.Repeat("a", tunnel.MaxPropertyValue)
	}
	f.Properties["p"] = strings.Repeat("a", tunnel.MaxPropertyValue)
	for i := range 64 {
		l[fmt.Sprintf("%s/%d", strings.Repeat("x", 240), i)] = strings.Repeat("b", 63)
	}
	return &Target{Name: name, Labels: l, Facts: f}
}

// used is how long the thread of the test has had a processor: others that have it meanwhile do not count.
func used(t *testing.T) time.Duration {
	t.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestExpressionsThatTakeLong: an expression that cannot be refused ends within milliseconds for a
// target, and what it makes of a target is not made again for each Placement and review.
func TestExpressionsThatTakeLong(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	loop := ten + ".all(a, " + ten + ".all(b, " + ten + ".all(c, %s)))"
	for _, text := range []string{
		"target == target", "target.labels == target.labels", "target.properties == target.properties",
		"target.labels in [target.labels, target.labels]", "target in [target]", "[target] == [target]",
		"{'a': target} == {'a': target}", "target.taints == target.taints", "dyn(target) == dyn(target)",
		"target.properties['p'] == target.properties['p']", "target.properties.p.replace('a', target.properties.p) != ''",
		"target.properties.p.matches('(a*)*' + target.properties.p)",
		"lists.range(10000000).size() > 0", "target.properties.map(k, target.properties[k]).join() != ''",
		"'%s'.format([target.properties]) != ''", "target.properties.map(k, k).distinct().size() > 0",
	} {
		for _, whole := range []string{text, strings.ReplaceAll(loop, "%s", text)} {
			e, err := compileCEL(v1alpha1.TargetExpression{Expression: whole})
			if err != nil {
				continue
			}
			at, began := largest("a"), used(t)
			_, _ = e.holds(at)
			first := used(t) - began
			began = used(t)
			for range 1000 {
				_, _ = e.holds(at)
			}
			if again := used(t) - began; first > 100*time.Millisecond || again > 100*time.Millisecond {
				t.Errorf("%s: %v, and %v for 1,000 more decisions", whole, first, again)
			}
		}
	}
}

// TestExpressionsTogether: eight expressions cost no more than one may.
func TestExpressionsTogether(t *testing.T) {
	one := v1alpha1.TargetExpression{Expression: "target.labels.exists(k, k.contains('a') && k.contains('b'))"}
	e, err := compileCEL(one)
	if err != nil {
		t.Fatal(err)
	}
	fit, spec := int(CELCost/e.cost), v1alpha1.PlacementSpec{}
	if fit >= 8 || fit == 0 {
		t.Fatalf("it costs %d", e.cost)
	}
	for i := range 8 {
		spec.Targets.CEL = append(spec.Targets.CEL, one)
		if wrong := Validate(spec); len(wrong) > 0 != (i >= fit) {
			t.Errorf("%d expressions that cost %d: %v", i+1, e.cost, wrong)
		}
	}
}
