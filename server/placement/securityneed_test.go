package placement

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"

	"skerry.dev/skerry/store"
)

const restrictedPod = `
securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}
containers:
- {name: c, securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}}`

// TestSecurityNeedOf: the strictest level that upstream's checks let the Pods of a workload in at, whatever
// the kind that makes them.
func TestSecurityNeedOf(t *testing.T) {
	for name, c := range map[string]struct {
		pod  string
		want SecurityNeed
	}{
		"nothing said":       {`containers: [{name: c, image: i, ports: [{containerPort: 80}]}]`, NeedsBaseline},
		"a probe":            {`containers: [{name: c, readinessProbe: {httpGet: {port: 80}}}]`, NeedsBaseline},
		"restricted":         {restrictedPod, NeedsRestricted},
		"as root, said":      {`{securityContext: {runAsUser: 0}, containers: [{name: c}]}`, NeedsBaseline},
		"privileged":         {`containers: [{name: c, securityContext: {privileged: true}}]`, NeedsPrivileged},
		"an init container":  {`{initContainers: [{name: i, securityContext: {privileged: true}}], containers: []}`, NeedsPrivileged},
		"the host's network": {`{hostNetwork: true, containers: [{name: c}]}`, NeedsPrivileged},
		"no host's network":  {`{hostNetwork: false, containers: [{name: c}]}`, NeedsBaseline},
		"the host's files":   {`{volumes: [{name: v, hostPath: {path: /}}], containers: [{name: c}]}`, NeedsPrivileged},
		"the host's port":    {`containers: [{name: c, ports: [{hostPort: 80}]}]`, NeedsPrivileged},
		"a probe of a host":  {`containers: [{name: c, livenessProbe: {tcpSocket: {host: 10.0.0.1, port: 80}}}]`, NeedsPrivileged},
		"a hook of a host": {`containers: [{name: c, lifecycle: {preStop: {httpGet: {host: h, port: 80}}}}]`,
			NeedsPrivileged},
		"a capability": {`containers: [{name: c, securityContext: {capabilities: {add: [SYS_ADMIN]}}}]`, NeedsPrivileged},
	} {
		t.Run(name, func(t *testing.T) {
			var pod map[string]any
			if err := yaml.Unmarshal([]byte(c.pod), &pod); err != nil {
				t.Fatal(err)
			}
			template := map[string]any{"template": map[string]any{"spec": pod}}
			for k, spec := range map[store.Key]map[string]any{
				{Resource: "pods"}:                       pod,
				{Group: "apps", Resource: "deployments"}: template,
				{Group: "batch", Resource: "cronjobs"}:   {"jobTemplate": map[string]any{"spec": template}},
			} {
				if got := SecurityNeedOf(k, map[string]any{"spec": spec}); got != c.want {
					t.Errorf("%s: %d, want %d", k.Resource, got, c.want)
				}
			}
		})
	}
	if got := SecurityNeedOf(store.Key{Resource: "configmaps"}, nil); got != NeedsNothing {
		t.Errorf("a ConfigMap needs %d", got)
	}
	old := map[string]any{"metadata": map[string]any{"annotations": map[string]any{
		"container.apparmor.security.beta.kubernetes.io/c": "unconfined"}},
		"spec": map[string]any{"containers": []any{map[string]any{"name": "c"}}}}
	if got := SecurityNeedOf(store.Key{Resource: "pods"}, old); got != NeedsPrivileged {
		t.Errorf("by an annotation: %d", got)
	}
}

// TestPlainPods: what is not decoded is judged as upstream judges it.
func TestPlainPods(t *testing.T) {
	if plainPod(nil, map[string]any{"hostPID": true}) || plainPod(map[string]any{"annotations": map[string]any{"a": "b"}}, nil) {
		t.Error("what a level looks at is not decoded")
	}
}

// TestRefused: a site refuses what needs more than its level. One that says nothing, or what a newer
// release knows, refuses nothing.
func TestRefused(t *testing.T) {
	needs := SecurityNeeds{NeedsNothing: 9, NeedsRestricted: 4, NeedsBaseline: 2, NeedsPrivileged: 1}
	for level, want := range map[string]int{"restricted": 3, "baseline": 1, "privileged": 0, "": 0, "newer": 0} {
		if got := needs.Refused(level); got != want {
			t.Errorf("%q refuses %d, want %d", level, got, want)
		}
	}
}

// BenchmarkSecurityNeedOf: of most Pods, and of those that are decoded.
func BenchmarkSecurityNeedOf(b *testing.B) {
	for name, text := range map[string]string{"plain": `containers: [{name: c, image: i}]`, "decoded": restrictedPod} {
		var pod map[string]any
		if err := yaml.Unmarshal([]byte(text), &pod); err != nil {
			b.Fatal(err)
		}
		obj := map[string]any{"spec": map[string]any{"template": map[string]any{"spec": pod}}}
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				SecurityNeedOf(store.Key{Group: "apps", Resource: "deployments"}, obj)
			}
		})
	}
}

// TestTargetsThatRefuseLess: of targets that are otherwise equal those come first that refuse less. It is
// no filter, weighs less than what a Placement prefers, and makes nothing leave. The verdicts say it.
func TestTargetsThatRefuseLess(t *testing.T) {
	target := func(name, level string, refuses, objects int) Target {
		return Target{Name: name, Connected: true, Objects: objects, Labels: labels.Set{"name": name},
			Refuses: Refusal{level, refuses}}
	}
	strict, usual, open := target("a", "restricted", 3, 0), target("b", "baseline", 1, 5), target("c", "privileged", 0, 9)
	preferred := &Constraints{preferences: []preference{{selector: labels.SelectorFromSet(labels.Set{"name": "a"}), weight: 1}}}
	away := open
	away.Connected = false
	for name, c := range map[string]struct {
		wish    Wish
		targets []Target
		current []string
		want    []string
	}{
		"one":                {Wish{Count: 1}, []Target{strict, usual, open}, nil, []string{"c"}},
		"two":                {Wish{Count: 2}, []Target{strict, usual, open}, nil, []string{"b", "c"}},
		"no other":           {Wish{Count: 1}, []Target{strict}, nil, []string{"a"}},
		"all":                {Wish{}, []Target{strict, usual}, nil, []string{"a", "b"}},
		"what is preferred":  {Wish{Count: 1, Constraints: preferred}, []Target{strict, open}, nil, []string{"a"}},
		"one that is away":   {Wish{Count: 1}, []Target{strict, away}, nil, []string{"a"}},
		"where it is":        {Wish{Count: 1}, []Target{strict, open}, []string{"a"}, []string{"a"}},
		"the longest there":  {Wish{Count: 1}, []Target{strict, open}, []string{"a", "c"}, []string{"a"}},
		"by fewest, if none": {Wish{Count: 1}, []Target{target("d", "", 0, 7), target("e", "", 0, 2)}, nil, []string{"e"}},
	} {
		t.Run(name, func(t *testing.T) {
			c.wish.Selectors = []labels.Selector{labels.Everything()}
			if got := Choose(c.wish, World{Targets: c.targets}, c.current).Targets; !slices.Equal(got, c.want) {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
	_, verdicts := Explain(Wish{Count: 1, Selectors: []labels.Selector{labels.Everything()}},
		World{Targets: []Target{strict, usual}}, nil)
	if got := verdicts[0].Message; got != "enough others are chosen; its Pod Security level restricted refuses the Pods of "+
		"3 workloads" {
		t.Errorf("a: %q", got)
	}
	if got := verdicts[1].Message; got != "its Pod Security level baseline refuses the Pods of 1 workload" {
		t.Errorf("b: %q", got)
	}
	w := Wish{Count: 1, Selectors: []labels.Selector{labels.Everything()}}
	if w.Affects(World{}, strict, target("a", "privileged", 0, 0)) {
		t.Error("another level wakes what is placed")
	}
}
