package admission

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/kubernetes/pkg/apis/apps"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	api "k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/server/placement"
)

// relay stands for the level of a target that is a relay.
const relay = "relay"

func levelOf(site, level string) placement.SecurityLevel {
	if level == relay {
		return placement.SecurityLevel{Target: site, Relay: true}
	}
	return placement.SecurityLevel{Target: site, Level: level}
}

// Who writes a workload whose Pods a site will refuse is told at once which site that is, why, and what
// its owner can do.
func TestPodsThatSitesRefuseAreTold(t *testing.T) {
	p, err := NewPodSecurity(&Lifecycle{})
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		levels     map[string]string // of sites
		at         string
		privileged bool
		want       []string // nil: no warning
	}{
		"privileged at a baseline site": {map[string]string{"paris": "baseline"}, "paris", true, []string{
			`site "paris" keeps to Pod Security level "baseline" and will refuse these Pods`, "privileged", "--policy trusted",
			"podSecurity: [shop=privileged]"}},
		"plain at a baseline site": {map[string]string{"paris": "baseline"}, "paris", false, nil},
		"plain at a restricted site": {map[string]string{"paris": "restricted"}, "paris", false, []string{
			`level "restricted"`, "allowPrivilegeEscalation", "--policy baseline", "podSecurity: [shop=baseline]"}},
		"privileged at a trusted site": {map[string]string{"paris": "privileged", "oslo": "baseline"}, "paris", true, nil},
		"nowhere yet, and one site takes them": {
			map[string]string{"paris": "privileged", "oslo": "baseline"}, "", true, nil},
		"nowhere yet, and none takes them": {map[string]string{"paris": "restricted", "oslo": "baseline"}, "", true, []string{
			`sites "oslo", "paris" keep to Pod Security level "restricted"`, "--policy trusted"}},
		"on two sites, of which one refuses": {map[string]string{"paris": "privileged", "oslo": "baseline"}, "oslo,paris",
			true, []string{`site "oslo" keeps`}},
		"nowhere yet, and a relay may take them": {map[string]string{"paris": "baseline", "eu": relay}, "", true, nil},
		"at a relay":                             {map[string]string{"paris": "baseline", "eu": relay}, "eu", true, nil},
		"a level that nobody knows":              {map[string]string{"paris": "strange"}, "paris", true, nil},
		"nothing is known":                       {nil, "", true, nil},
	} {
		p.Sites = func(space string, targets []string) (out []placement.SecurityLevel) {
			if space != "shop" {
				t.Errorf("asked for the space %q", space)
			}
			for site, level := range test.levels {
				if len(targets) == 0 || slices.Contains(targets, site) {
					out = append(out, levelOf(site, level))
				}
			}
			slices.SortFunc(out, func(a, b placement.SecurityLevel) int { return strings.Compare(a.Target, b.Target) })
			return out
		}
		d := &apps.Deployment{}
		d.Annotations = map[string]string{v1alpha1.AnnotationTargets: test.at}
		d.Spec.Template.Spec.Containers = []api.Container{{Name: "c", Image: "i",
			SecurityContext: &api.SecurityContext{Privileged: &test.privileged}}}
		var told warned
		ctx := warning.WithWarningRecorder(request.WithSpace(t.Context(), "shop"), &told)
		a := admission.NewAttributesRecord(d, nil, schema.GroupVersionKind{}, "app", "web",
			schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, "", admission.Create, nil,
			false, &user.DefaultInfo{Name: "alice"})
		if err := p.warnSites(ctx, a); err != nil {
			t.Fatal(err)
		}
		text := strings.Join(told, "\n")
		if len(test.want) == 0 && text != "" || len(test.want) > 0 && len(told) != 1 {
			t.Errorf("%s: warned %q", name, text)
		}
		for _, part := range test.want {
			if !strings.Contains(text, part) {
				t.Errorf("%s: %q does not say %q", name, text, part)
			}
		}
	}
	var told warned
	ctx := warning.WithWarningRecorder(request.WithSpace(t.Context(), "shop"), &told)
	a := admission.NewAttributesRecord(&api.Namespace{}, nil, schema.GroupVersionKind{}, "", "web",
		schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}, "", admission.Create, nil, false,
		&user.DefaultInfo{Name: "alice"})
	if err := p.warnSites(ctx, a); err != nil || len(told) > 0 {
		t.Errorf("a Namespace: %v, %v", told, err)
	}
}

// kubectl debug node/SITE is refused at once where the site will not run its Pod, with what to do instead. It
// would wait for that Pod for ever.
func TestNodesAreNotDebuggedWhereASiteRefusesIt(t *testing.T) {
	p, err := NewPodSecurity(&Lifecycle{})
	if err != nil {
		t.Fatal(err)
	}
	p.Sites = func(_ string, targets []string) (out []placement.SecurityLevel) {
		for site, level := range map[string]string{"paris": "baseline", "oslo": "privileged", "eu": relay} {
			if slices.Contains(targets, site) {
				out = append(out, levelOf(site, level))
			}
		}
		return out
	}
	for name, c := range map[string]struct {
		pod, node, cause string // no cause: it is not refused
	}{
		"at a baseline site":    {"node-debugger-paris-x7k2p", "paris", `site "paris" keeps to Pod Security level "baseline"`},
		"at a trusted site":     {"node-debugger-oslo-x7k2p", "oslo", ""},
		"at a relay":            {"node-debugger-eu-x7k2p", "eu", `"eu" is a relay`},
		"at a node of a site":   {"node-debugger-n1-x7k2p", "n1", ""},
		"another Pod":           {"web", "paris", ""},
		"another Pod, at relay": {"web", "eu", ""},
	} {
		pod := &api.Pod{}
		pod.Name, pod.Spec.NodeName = c.pod, c.node
		privileged := true
		pod.Spec.Containers = []api.Container{{Name: "debugger", Image: "i",
			SecurityContext: &api.SecurityContext{Privileged: &privileged}}}
		a := admission.NewAttributesRecord(pod, nil, schema.GroupVersionKind{}, "web", c.pod,
			schema.GroupVersionResource{Version: "v1", Resource: "pods"}, "", admission.Create, nil, false,
			&user.DefaultInfo{Name: "alice"})
		var told warned
		err := p.warnSites(warning.WithWarningRecorder(request.WithSpace(t.Context(), "shop"), &told), a)
		if (c.cause != "") != (err != nil) {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil && (!strings.Contains(err.Error(), c.cause) ||
			!strings.Contains(err.Error(), "--profile=baseline, and a machine with the kubeconfig")) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
