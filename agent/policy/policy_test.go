package policy

import (
	"errors"
	"strings"
	"testing"

	"skerry.dev/skerry/tunnel"
)

func compile(t *testing.T, site tunnel.Allow, narrow *tunnel.Narrow) *Policy {
	t.Helper()
	p, err := Compile(site, narrow)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// refused checks a verdict: reason empty means allowed, and words that the message must have.
func refused(t *testing.T, err error, reason, words string) {
	t.Helper()
	var r *Refusal
	switch {
	case reason == "" && err != nil:
		t.Errorf("refused: %v", err)
	case reason != "" && !errors.As(err, &r):
		t.Errorf("allowed, not %s", reason)
	case reason != "" && (r.Reason != reason || !strings.Contains(r.Message, words)):
		t.Errorf("%s %q, not %s with %q", r.Reason, r.Message, reason, words)
	}
}

func TestKinds(t *testing.T) {
	no := false
	restricted, err := Restricted.Allows()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name            string
		site            tunnel.Allow
		narrow          *tunnel.Narrow
		group, resource string
		defined         bool
		reason          string
	}{
		{"a workload", tunnel.Allow{}, nil, "apps", "deployments", false, ""},
		{"a namespace", tunnel.Allow{}, nil, "", "namespaces", false, ""},
		{"what acts on the cluster", tunnel.Allow{}, nil, "scheduling.k8s.io", "priorityclasses", false, ReasonKind},
		{"a controller of the site", tunnel.Allow{}, nil, "helm.cattle.io", "helmcharts", false, ReasonKind},
		{"endpoints", tunnel.Allow{}, nil, "", "endpoints", false, ReasonKind},
		{"a class of Ingresses", tunnel.Allow{}, nil, "networking.k8s.io", "ingressclasses", false, ""},
		{"a class where strangers are", restricted, nil, "networking.k8s.io", "ingressclasses", false, ReasonKind},
		{"a kind that nobody knows yet", tunnel.Allow{}, nil, "future.k8s.io", "wonders", false, ReasonKind},
		{"a definition of the space", tunnel.Allow{}, nil, "example.com", "widgets", true, ""},
		{"opened by name", tunnel.Allow{Kinds: []string{"priorityclasses.scheduling.k8s.io"}}, nil,
			"scheduling.k8s.io", "priorityclasses", false, ""},
		{"opened by pattern", tunnel.Allow{Kinds: []string{"*.cattle.io"}}, nil, "helm.cattle.io", "helmcharts", false, ""},
		{"denied", tunnel.Allow{DenyKinds: []string{"secrets"}}, nil, "", "secrets", false, ReasonKind},
		{"narrowed", tunnel.Allow{}, &tunnel.Narrow{Kinds: []string{"configmaps"}}, "apps", "deployments", false, ReasonKind},
		{"left", tunnel.Allow{}, &tunnel.Narrow{Kinds: []string{"*.apps"}}, "apps", "deployments", false, ""},
		{"not widened", tunnel.Allow{}, &tunnel.Narrow{Kinds: []string{"*"}}, "scheduling.k8s.io",
			"priorityclasses", false, ReasonKind},
		{"taken away", tunnel.Allow{Kinds: []string{"*"}},
			&tunnel.Narrow{DenyKinds: []string{"*.cattle.io"}, TakeOver: &no}, "helm.cattle.io",
			"helmcharts", false, ReasonKind},
	} {
		t.Run(c.name, func(t *testing.T) {
			refused(t, compile(t, c.site, c.narrow).Kind(c.group, c.resource, c.defined), c.reason, "")
		})
	}
}

func TestNamespaces(t *testing.T) {
	shop := Space{"shop", "u1"}
	for _, c := range []struct {
		name          string
		allow         []string
		narrow        *tunnel.Narrow
		is            Existing
		reason, words string
	}{
		{"empty", nil, nil, Existing{Name: "default"}, "", ""},
		{"in use", nil, nil, Existing{Name: "app", Foreign: []string{"secrets/theirs"}}, ReasonNamespace,
			"namespaces: [app]"},
		{"with rights", nil, nil, Existing{Name: "app", Bound: "clusterrolebinding ops"}, ReasonNamespace,
			"clusterrolebinding ops"},
		{"the cluster's", []string{"*"}, nil, Existing{Name: "kube-system"}, ReasonNamespace, "kube-"},
		{"opened", []string{"app"}, nil, Existing{Name: "app", Foreign: []string{"x"}, Bound: "y"}, "", ""},
		{"opened to it", []string{"shop/*"}, nil, Existing{Name: "app", Foreign: []string{"x"}}, "", ""},
		{"opened to another", []string{"other/app"}, nil, Existing{Name: "app", Foreign: []string{"x"}}, ReasonNamespace, ""},
		{"narrowed", []string{"*"}, &tunnel.Narrow{Namespaces: []string{"data"}},
			Existing{Name: "app", Foreign: []string{"x"}}, ReasonNamespace, ""},
		{"its own", nil, nil, Existing{Name: "app", Owner: shop}, "", ""},
		{"another space's", []string{"*"}, nil, Existing{Name: "app", Owner: Space{"bank", "u2"}},
			ReasonTaken, `space "bank"`},
		{"an earlier space's", nil, nil, Existing{Name: "app", Owner: Space{"shop", "u0"}}, ReasonTaken, "[shop/app]"},
		{"given to the later space", []string{"shop/app"}, nil, Existing{Name: "app", Owner: Space{"shop", "u0"}}, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			refused(t, compile(t, tunnel.Allow{Namespaces: c.allow}, c.narrow).Namespace(shop, c.is), c.reason, c.words)
		})
	}
}

func TestObjects(t *testing.T) {
	pod := func(spec string) string { return `{"spec":{"template":{"metadata":{},"spec":` + spec + `}}}` }
	host := pod(`{"containers":[{"name":"a"}],"volumes":[{"name":"v","hostPath":{"path":"/"}}]}`)
	for _, c := range []struct {
		name, kind, body string
		site             tunnel.Allow
		narrow           *tunnel.Narrow
		reason, words    string
	}{
		{"a plain one", "deployments.apps", pod(`{"containers":[{"name":"a"}]}`), tunnel.Allow{}, nil, "", ""},
		{"host path", "deployments.apps", host, tunnel.Allow{}, nil, ReasonPodSecurity, "podSecurity: [shop=privileged]"},
		{"host path where the space may", "deployments.apps", host,
			tunnel.Allow{PodSecurity: []string{"shop=privileged"}}, nil, "", ""},
		{"host path where another may", "deployments.apps", host,
			tunnel.Allow{PodSecurity: []string{"bank=privileged"}}, nil, ReasonPodSecurity, ""},
		{"host path, taken away", "deployments.apps", host,
			tunnel.Allow{PodSecurity: []string{"privileged"}}, &tunnel.Narrow{PodSecurity: "baseline"}, ReasonPodSecurity, ""},
		{"privileged in a CronJob", "cronjobs.batch", `{"spec":{"jobTemplate":` +
			pod(`{"containers":[{"name":"a","securityContext":{"privileged":true}}]}`) + `}}`,
			tunnel.Allow{}, nil, ReasonPodSecurity, "privileged"},
		{"host network in a Pod", "pods", `{"spec":{"hostNetwork":true,"containers":[{"name":"a"}]}}`,
			tunnel.Allow{}, nil, ReasonPodSecurity, "host"},
		{"its ServiceAccount", "deployments.apps", pod(`{"serviceAccountName":"mine","containers":[]}`),
			tunnel.Allow{}, nil, "", ""},
		{"the default ServiceAccount", "deployments.apps",
			pod(`{"serviceAccountName":"default","containers":[]}`), tunnel.Allow{}, nil, "", ""},
		{"one of the site", "deployments.apps", pod(`{"serviceAccountName":"ops-admin","containers":[]}`),
			tunnel.Allow{}, nil, ReasonServiceAccount, "[app/ops-admin]"},
		{"one of the site by the old name", "pods", `{"spec":{"serviceAccount":"ops-admin"}}`,
			tunnel.Allow{}, nil, ReasonServiceAccount, ""},
		{"one that the site lends", "pods", `{"spec":{"serviceAccountName":"ops"}}`,
			tunnel.Allow{ServiceAccounts: []string{"app/ops"}}, nil, "", ""},
		{"a token for the API", "pods",
			`{"spec":{"volumes":[{"name":"t",` +
				`"projected":{"sources":[{"serviceAccountToken":{"path":"t"}}]}}]}}`, tunnel.Allow{}, nil, ReasonField, "tokens"},
		{"a token for others", "pods",
			`{"spec":{"volumes":[{"name":"t",` +
				`"projected":{"sources":[{"serviceAccountToken":{"path":"t","audience":"vault"}}]}}]}}`,
			tunnel.Allow{}, nil, "", ""},
		{"a token Secret", "secrets", `{"type":"kubernetes.io/service-account-token"}`, tunnel.Allow{}, nil,
			ReasonField, "tokens"},
		{"externalIPs", "services", `{"spec":{"externalIPs":["10.0.0.1"]}}`, tunnel.Allow{}, nil, ReasonField, "externalIPs"},
		{"a load balancer", "services", `{"spec":{"type":"LoadBalancer"}}`, tunnel.Allow{}, nil, "", ""},
		{"a load balancer's class", "services", `{"spec":{"loadBalancerClass":"a/b"}}`, tunnel.Allow{}, nil,
			ReasonField, "loadBalancerClasses: [a/b]"},
		{"that class, lent", "services", `{"spec":{"loadBalancerClass":"a/b"}}`,
			tunnel.Allow{LoadBalancerClasses: []string{"a/b"}}, nil, "", ""},
		{"a volume by name", "persistentvolumeclaims", `{"spec":{"volumeName":"pv"}}`, tunnel.Allow{}, nil,
			ReasonField, "volumeNames"},
		{"a volume by labels", "persistentvolumeclaims",
			`{"spec":{"storageClassName":"fast","selector":{"matchLabels":{"a":"b"}}}}`,
			tunnel.Allow{}, nil, ReasonField, "leave it out"},
		{"any volume by labels", "persistentvolumeclaims", `{"spec":{"selector":{}}}`, tunnel.Allow{}, nil,
			ReasonField, "spec.selector"},
		{"a volume of no class", "persistentvolumeclaims", `{"spec":{"storageClassName":""}}`, tunnel.Allow{}, nil,
			ReasonField, "volumeNames: true"},
		{"no class by the old word", "persistentvolumeclaims",
			`{"metadata":{"annotations":{"volume.beta.kubernetes.io/storage-class":""}},"spec":{"storageClassName":"fast"}}`,
			tunnel.Allow{}, nil, ReasonField, "storageClassName"},
		{"a class", "persistentvolumeclaims", `{"spec":{"storageClassName":"fast","selector":null}}`,
			tunnel.Allow{}, nil, "", ""},
		{"volumes of no class, lent", "persistentvolumeclaims",
			`{"spec":{"storageClassName":"","selector":{},"volumeName":"pv"}}`,
			tunnel.Allow{VolumeNames: true}, nil, "", ""},
		{"those of a template", "statefulsets.apps",
			`{"spec":{"volumeClaimTemplates":[{"spec":{"storageClassName":"a"}},{"spec":{"storageClassName":""}}]}}`,
			tunnel.Allow{}, nil, ReasonField, "storageClassName"},
		{"an ephemeral volume by name", "deployments.apps",
			`{"spec":{"template":{"spec":{"volumes":[{"name":"v","ephemeral":{"volumeClaimTemplate":{"spec":{"volumeName":"pv"}}}}]}}}}`,
			tunnel.Allow{}, nil, ReasonField, "volumeName"},
		{"a template's volume by name", "statefulsets.apps",
			`{"spec":{"volumeClaimTemplates":[{"spec":{"volumeName":"pv"}}]}}`, tunnel.Allow{}, nil, ReasonField, "volumeNames"},
		{"a class of Ingresses", ingressClasses, `{"spec":{"controller":"example.com/in"}}`, tunnel.Allow{}, nil, "", ""},
		{"a default class", ingressClasses,
			`{"metadata":{"annotations":{"ingressclass.kubernetes.io/is-default-class":"true"}}}`, tunnel.Allow{}, nil,
			ReasonField, "Ingresses of everybody"},
		{"a class with parameters", ingressClasses,
			`{"spec":{"controller":"example.com/in","parameters":{"kind":"A","name":"b"}}}`, tunnel.Allow{}, nil,
			ReasonField, "spec.parameters"},
		{"a default class where the kind is open", ingressClasses,
			`{"metadata":{"annotations":{"ingressclass.kubernetes.io/is-default-class":"true"}}}`,
			tunnel.Allow{Kinds: []string{"*"}}, nil, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			mine := func(name string) bool { return name == "mine" }
			refused(
				t,
				compile(t, c.site, c.narrow).Object("shop", "app", c.kind, []byte(c.body), mine),
				c.reason,
				c.words,
			)
		})
	}
}

func TestDefinitions(t *testing.T) {
	approved := map[string]string{approval: "https://github.com/kubernetes/enhancements/pull/1"}
	p := compile(t, tunnel.Allow{Kinds: []string{"*"}}, nil)
	refused(t, p.Definition("example.com", nil, false), "", "")
	refused(
		t,
		p.Conversion(
			[]byte(
				`{"spec":{"conversion":{"strategy":"Webhook","webhook":{"clientConfig":{"url":"https://10.0.0.1"}}}}}`,
			),
		),
		ReasonDefinition,
		"webhook",
	)
	refused(t, p.Conversion([]byte(`{"spec":{"conversion":{"strategy":"None"}}}`)), "", "")
	refused(t, p.Definition("gateway.networking.x-k8s.io", nil, false), "", "")
	refused(t, p.Definition("metrics.k8s.io", nil, false), ReasonDefinition, approval)
	refused(t, p.Definition("apps", nil, false), ReasonDefinition, "")
	refused(t, p.Definition("gateway.networking.k8s.io", approved, false), "", "")
	refused(t, p.Definition("gateway.networking.k8s.io", approved, true), ReasonDefinition, "itself")
	refused(
		t,
		p.Definition("gateway.networking.k8s.io", map[string]string{approval: "unapproved"}, false),
		ReasonDefinition,
		"",
	)
}

func TestTakeOver(t *testing.T) {
	refused(t, compile(t, tunnel.Allow{}, nil).TakeOver("", "configmaps"), ReasonTakeOver, "takeOver: true")
	open, no := compile(t, tunnel.Allow{TakeOver: true}, nil), false
	refused(t, open.TakeOver("", "configmaps"), "", "")
	refused(t, open.TakeOver("", "secrets"), ReasonTakeOver, "never")
	refused(
		t,
		compile(t, tunnel.Allow{TakeOver: true}, &tunnel.Narrow{TakeOver: &no}).TakeOver("", "configmaps"),
		ReasonTakeOver,
		"",
	)
}

func TestLabels(t *testing.T) {
	p := compile(t, tunnel.Allow{}, nil)
	got := p.Labels(
		"shop",
		map[string]string{
			"team":                               "a",
			"pod-security.kubernetes.io/enforce": "privileged",
			"pod-security.kubernetes.io/warn":    "restricted",
		},
	)
	if len(got) != 2 || got["team"] != "a" || got["pod-security.kubernetes.io/enforce"] != "baseline" {
		t.Errorf("labels %v", got)
	}
	const level = "pod-security.kubernetes.io/enforce"
	if got = p.Labels("shop", map[string]string{level: "restricted"}); got[level] != "restricted" {
		t.Errorf("a stricter level is lost: %v", got)
	}
}

func TestCompileRefuses(t *testing.T) {
	for _, a := range []tunnel.Allow{{Kinds: []string{"["}}, {PodSecurity: []string{"shop=open"}},
		{Namespaces: []string{""}}} {
		if _, err := Compile(a, nil); err == nil {
			t.Errorf("%+v is understood", a)
		}
	}
	if _, err := Compile(tunnel.Allow{}, &tunnel.Narrow{PodSecurity: "none"}); err == nil {
		t.Error("an unknown level is understood")
	}
}

// FuzzParentNeverWidens compiles any word of a parent over a closed site: nothing is allowed that
// the site alone refuses.
func FuzzParentNeverWidens(f *testing.F) {
	f.Add("*", "priorityclasses.scheduling.k8s.io", "default", "privileged")
	f.Fuzz(func(t *testing.T, pattern, kind, namespace, level string) {
		yes := true
		narrow := &tunnel.Narrow{
			Namespaces:          []string{pattern},
			Kinds:               []string{pattern},
			ServiceAccounts:     []string{pattern},
			LoadBalancerClasses: []string{pattern},
			PodSecurity:         level,
			TakeOver:            &yes,
			ExternalIPs:         &yes,
			VolumeNames:         &yes,
			Tokens:              &yes,
		}
		p, err := Compile(tunnel.Allow{}, narrow)
		if err != nil {
			return
		}
		site := compile(t, tunnel.Allow{}, nil)
		group, resource := "", kind
		if r, g, ok := strings.Cut(kind, "."); ok {
			group, resource = g, r
		}
		is := Existing{Name: namespace, Foreign: []string{"x"}}
		if p.Kind(group, resource, false) == nil && site.Kind(group, resource, false) != nil ||
			p.Namespace(Space{"s", "u"}, is) == nil && site.Namespace(Space{"s", "u"}, is) != nil ||
			p.TakeOver("", kind) == nil ||
			stricter(p.Level("s"), site.Level("s")) != p.Level("s") {
			t.Errorf("%q %q %q %q opened what the site does not", pattern, kind, namespace, level)
		}
	})
}

func TestDebugKeepsToTheLevelOfTheSpace(t *testing.T) {
	p := compile(t, tunnel.Allow{PodSecurity: []string{"ops=privileged"}}, nil)
	const spec = `{"containers":[{"name":"app"}]}`
	privileged := `[{"name":"d","securityContext":{"privileged":true}}]`
	for _, c := range []struct{ space, containers, reason string }{
		{"shop", `[{"name":"d","image":"busybox"}]`, ""},
		{"shop", privileged, ReasonPodSecurity},
		{"shop", `[{"name":"d","securityContext":{"capabilities":{"add":["SYS_ADMIN"]}}}]`, ReasonPodSecurity},
		{"shop", `[{"name":"d","resources":{"limits":{"cpu":"1e999999999"}}}]`, ReasonField},
		{"ops", privileged, ""},
		{"shop", `{`, ""},
	} {
		err := p.Debug(c.space, []byte(spec), []byte(c.containers))
		refused(t, err, c.reason, "")
		if c.reason == ReasonPodSecurity && !strings.HasSuffix(err.Error(), "; kubectl debug --profile=baseline keeps to it") {
			t.Errorf("it does not say what is allowed: %v", err)
		}
	}
}
