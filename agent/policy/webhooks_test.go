package policy

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"maps"
	"math/big"
	"slices"
	"strings"
	"testing"

	"skerry.dev/skerry/tunnel"
)

// hookFacts are what a space has at a site, all under a prefix.
type hookFacts struct {
	prefix string
	labels map[string]map[string]string
	bodies map[string]string
	writer string
}

func (f hookFacts) Namespaces() (map[string]string, map[string]map[string]string) {
	there := map[string]string{}
	for name := range f.labels {
		there[name] = f.prefix + name
	}
	return there, f.labels
}

func (f hookFacts) Service(namespace, name string) ([]byte, bool) {
	body, ok := f.bodies[namespace+"/"+name]
	return []byte(body), ok
}

func (f hookFacts) Writer() string { return f.writer }
func (f hookFacts) Site() string   { return "skerry.dev/site" }

func shopAtSite() hookFacts {
	return hookFacts{
		labels: map[string]map[string]string{"app": {"tier": "front"}, "data": {"tier": "back"}, "kube-twin": nil},
		bodies: map[string]string{
			"app/hook":    `{"spec":{"selector":{"app":"hook"},"ports":[{"port":443}]}}`,
			"app/outside": `{"spec":{"type":"ExternalName","externalName":"metadata.internal","selector":{"a":"b"}}}`,
			"app/written": `{"spec":{"ports":[{"port":443}]}}`,
			"app/broken":  `{"spec":{"selector":"all"}}`,
			"theirs/hook": `{"spec":{"selector":{"app":"hook"}}}`,
		},
		writer: "system:serviceaccount:skerry-spaces:shop",
	}
}

const (
	toHook = `"clientConfig":{"service":{"namespace":"app","name":"hook","path":"/p","port":443},"caBundle":"Q0E="}`
	ofPods = `"rules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],"resources":["pods"]}]`
)

// mirrorOf mirrors a configuration of one webhook with these fields.
func mirrorOf(t *testing.T, f hookFacts, text string) (hooks []webhook, left []string, whole string) {
	t.Helper()
	out, left, err := Mirror("skerry-shop.hooks", []byte(`{"apiVersion":"admissionregistration.k8s.io/v1",
		"kind":"MutatingWebhookConfiguration","metadata":{"name":"hooks"},"webhooks":[{"name":"a.b.c",`+text+`}]}`), f)
	if err != nil {
		t.Fatal(err)
	}
	var c configuration
	if err := json.Unmarshal(out, &c); err != nil {
		t.Fatal(err)
	}
	return c.Webhooks, left, string(out)
}

// Whatever a tenant writes, its webhook is asked about nothing but what is born in its own namespaces
// at the site, and the site calls nothing but a Service there that selects its Pods.
func TestAMirroredWebhookIsOfItsSpaceAlone(t *testing.T) {
	rule := func(fields string) string { return toHook + `,"rules":[{` + fields + `}]` }
	service := func(fields string) string { return `"clientConfig":{` + fields + `},` + ofPods }
	selects := func(field, text string) string { return toHook + `,` + ofPods + `,"` + field + `":` + text }
	all := `"apiGroups":["*"],"apiVersions":["*"],"operations":["*"],"resources":`
	for name, text := range map[string]string{
		"everything":         rule(all + `["*/*"],"scope":"*"`),
		"all resources":      rule(all + `["*"]`),
		"cluster-wide kinds": rule(all + `["*"],"scope":"Cluster"`),
		"nodes":              rule(`"apiGroups":[""],"apiVersions":["v1"],"operations":["*"],"resources":["nodes","pods"]`),
		"namespaces":         rule(`"apiGroups":[""],"apiVersions":["v1"],"operations":["*"],"resources":["namespaces"]`),
		"secrets":            rule(`"apiGroups":[""],"apiVersions":["v1"],"operations":["*"],"resources":["secrets","pods"]`),
		"leases":             rule(`"apiGroups":["coordination.k8s.io"],"apiVersions":["v1"],"operations":["*"],"resources":["*"]`),
		"rights":             rule(`"apiGroups":["rbac.authorization.k8s.io"],"apiVersions":["*"],"operations":["*"],"resources":["*"]`),
		"webhooks":           rule(`"apiGroups":["admissionregistration.k8s.io"],"apiVersions":["*"],"operations":["*"],"resources":["*"]`),
		"definitions":        rule(`"apiGroups":["apiextensions.k8s.io"],"apiVersions":["*"],"operations":["*"],"resources":["*"]`),
		"tokens":             rule(`"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],"resources":["serviceaccounts/token"]`),
		"exec":               rule(`"apiGroups":[""],"apiVersions":["v1"],"operations":["CONNECT"],"resources":["pods/exec"]`),
		"connect to pods":    rule(`"apiGroups":[""],"apiVersions":["v1"],"operations":["CONNECT"],"resources":["pods"]`),
		"subresources":       rule(`"apiGroups":[""],"apiVersions":["v1"],"operations":["*"],"resources":["pods/*"]`),
		"bindings":           rule(`"apiGroups":[""],"apiVersions":["v1"],"operations":["*"],"resources":["pods/binding","pods"]`),
		"placed kinds":       rule(`"apiGroups":["apps"],"apiVersions":["v1"],"operations":["*"],"resources":["deployments","replicasets"]`),
		"another case":       rule(`"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],"resources":["PODS"]`),
		"no selector":        selects("namespaceSelector", `null`),
		"an empty selector":  selects("namespaceSelector", `{}`),
		"kube-system by name": selects("namespaceSelector",
			`{"matchLabels":{"kubernetes.io/metadata.name":"kube-system"}}`),
		"another space's namespace by name": selects("namespaceSelector",
			`{"matchExpressions":[{"key":"kubernetes.io/metadata.name","operator":"In","values":["bank","app"]}]}`),
		"all but its own": selects("namespaceSelector",
			`{"matchExpressions":[{"key":"kubernetes.io/metadata.name","operator":"NotIn","values":["app","data"]}]}`),
		"namespaces without a label": selects("namespaceSelector",
			`{"matchExpressions":[{"key":"tier","operator":"DoesNotExist"}]}`),
		"a broken selector": selects("namespaceSelector",
			`{"matchExpressions":[{"key":"tier","operator":"Near"}]}`),
		"what comes from the center": selects("objectSelector",
			`{"matchExpressions":[{"key":"skerry.dev/site","operator":"Exists"}]}`),
		"what is written for the space": selects("matchConditions",
			`[{"name":"x","expression":"request.userInfo.username == 'system:serviceaccount:skerry-spaces:shop'"}]`),
		"a condition that is always true": selects("matchConditions", `[{"name":"x","expression":"true"}]`),
		"a url":                           service(`"url":"https://169.254.169.254/"`),
		"a url beside a Service":          service(`"url":"https://10.0.0.1/","service":{"namespace":"app","name":"hook"}`),
		"a Service of kube-system":        service(`"service":{"namespace":"kube-system","name":"kube-dns"}`),
		"kubernetes.default":              service(`"service":{"namespace":"default","name":"kubernetes"}`),
		"a Service of another space":      service(`"service":{"namespace":"theirs","name":"hook"}`),
		"a Service that is elsewhere":     service(`"service":{"namespace":"data","name":"hook"}`),
		"an ExternalName":                 service(`"service":{"namespace":"app","name":"outside"}`),
		"a Service without a selector":    service(`"service":{"namespace":"app","name":"written"}`),
		"a Service that cannot be read":   service(`"service":{"namespace":"app","name":"broken"}`),
		"no service":                      service(``),
		"a Service without a namespace":   service(`"service":{"name":"hook"}`),
		"an unknown field":                selects("dialAddress", `"10.0.0.1:443"`),
	} {
		hooks, _, whole := mirrorOf(t, shopAtSite(), text)
		for _, h := range hooks {
			checkOwn(t, name, &h)
		}
		for _, never := range []string{"169.254", "10.0.0.1", "kube-dns", "theirs", "url", "dialAddress",
			"CONNECT", "secrets"} {
			if strings.Contains(whole, never) {
				t.Errorf("%s: %s reaches the site: %s", name, never, whole)
			}
		}
	}
}

// checkOwn fails unless a mirrored webhook is narrowed to the space shop.
func checkOwn(t *testing.T, name string, h *webhook) {
	t.Helper()
	if s := h.ClientConfig.Service; s == nil || s.Namespace != "app" || s.Name != "hook" || h.ClientConfig.URL != nil {
		t.Errorf("%s: calls %+v", name, h.ClientConfig)
	}
	for _, r := range h.Rules {
		if r.Scope != "Namespaced" || len(r.APIGroups) != 1 {
			t.Errorf("%s: %+v", name, r)
		}
		for _, resource := range r.Resources {
			if !slices.Contains(born[r.APIGroups[0]], resource) {
				t.Errorf("%s: is asked about %q %s", name, r.APIGroups[0], resource)
			}
		}
	}
	terms := h.NamespaceSelector.MatchExpressions
	if len(h.NamespaceSelector.MatchLabels) > 0 || len(terms) != 2 || terms[0].Key != "kubernetes.io/metadata.name" ||
		terms[0].Operator != "In" || len(terms[0].Values) == 0 || terms[1].Key != "skerry.dev/site" ||
		terms[1].Operator != "Exists" {
		t.Errorf("%s: namespaces %+v", name, h.NamespaceSelector)
	}
	for _, namespace := range terms[0].Values {
		if namespace != "app" && namespace != "data" {
			t.Errorf("%s: is asked in namespace %s", name, namespace)
		}
	}
	objects := h.ObjectSelector.MatchExpressions
	if last := objects[len(objects)-1]; last.Key != "skerry.dev/site" || last.Operator != "DoesNotExist" {
		t.Errorf("%s: objects %+v", name, h.ObjectSelector)
	}
	if c := h.MatchConditions[0]; c.Expression != `request.userInfo.username != "system:serviceaccount:skerry-spaces:shop"` {
		t.Errorf("%s: conditions %+v", name, h.MatchConditions)
	}
}

func TestAMirroredWebhookIsAskedAsInItsSpace(t *testing.T) {
	f := shopAtSite()
	hooks, left, _ := mirrorOf(t, f,
		toHook+`,"rules":[{"apiGroups":["*"],"apiVersions":["v1"],"operations":["CREATE","DELETE"],"resources":["*"]}],
		"namespaceSelector":{"matchLabels":{"tier":"back"}},"objectSelector":{"matchLabels":{"app":"web"}},"failurePolicy":"Fail",
		"matchPolicy":"Exact","sideEffects":"None","timeoutSeconds":3,"reinvocationPolicy":"IfNeeded","admissionReviewVersions":["v1"],
		"matchConditions":[{"name":"mine","expression":"true"}]`)
	if len(hooks) != 1 || len(left) != 0 {
		t.Fatal(hooks, left)
	}
	h := hooks[0]
	if h.FailurePolicy != "Fail" || h.MatchPolicy != "Exact" || h.SideEffects != "None" || *h.TimeoutSeconds != 3 ||
		h.ReinvocationPolicy != "IfNeeded" || h.ObjectSelector.MatchLabels["app"] != "web" || len(h.MatchConditions) != 2 ||
		string(h.ClientConfig.CABundle) != "CA" || *h.ClientConfig.Service.Path != "/p" ||
		*h.ClientConfig.Service.Port != 443 {
		t.Errorf("%+v", h)
	}
	if got := h.NamespaceSelector.MatchExpressions[0].Values; !slices.Equal(got, []string{"data"}) {
		t.Errorf("namespaces %v", got)
	}
	if len(h.Rules) != 3 || !slices.Equal(h.Rules[0].Operations, []string{"CREATE", "DELETE"}) {
		t.Errorf("rules %+v", h.Rules)
	}
	f.prefix, f.labels = "shop-", maps.Clone(f.labels)
	hooks, _, _ = mirrorOf(t, f,
		toHook+`,`+ofPods+`,"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"data"}}`)
	if hooks[0].ClientConfig.Service.Namespace != "shop-app" ||
		hooks[0].NamespaceSelector.MatchExpressions[0].Values[0] != "shop-data" {
		t.Errorf("under a prefix: %+v", hooks[0])
	}
}

func TestWhatIsNotMirroredIsTold(t *testing.T) {
	for text, says := range map[string]string{
		`"clientConfig":{"url":"https://x.org"},` + ofPods:                              "Services only",
		`"clientConfig":{"service":{"namespace":"data","name":"hook"}},` + ofPods:       "not placed at this site",
		`"clientConfig":{"service":{"namespace":"app","name":"outside"}},` + ofPods:     "may lead anywhere",
		`"clientConfig":{"service":{"namespace":"kube-system","name":"dns"}},` + ofPods: "no namespace that was made at this site",
		toHook + `,` + ofPods + `,"matchConditions":[` +
			strings.Repeat(`{"name":"x","expression":"true"},`, 63) + `{"name":"x","expression":"true"}]`: "64 are the most",
	} {
		hooks, left, _ := mirrorOf(t, shopAtSite(), text)
		if len(hooks) != 0 || len(left) != 1 || !strings.Contains(left[0], says) || !strings.HasPrefix(left[0], "a.b.c: ") {
			t.Errorf("%s: %v, %v", text, hooks, left)
		}
	}
	if _, _, err := Mirror(strings.Repeat("x", 254), []byte(`{}`), shopAtSite()); err == nil {
		t.Error("a name that no object can have")
	}
	if _, _, err := Mirror("x", []byte(`{"webhooks":7}`), shopAtSite()); err == nil {
		t.Error("what cannot be read")
	}
}

func TestAServingCertificateOfAnotherNameIsTold(t *testing.T) {
	f := shopAtSite()
	f.prefix = "shop-"
	for bundle, mirrored := range map[string]bool{
		certificateFor(t, false, "hook.app.svc"):      false,
		certificateFor(t, false, "hook.shop-app.svc"): true,
		certificateFor(t, true, "operator-ca"):        true,
		"no certificate":                              true,
	} {
		text := strings.Replace(toHook, "Q0E=", base64.StdEncoding.EncodeToString([]byte(bundle)), 1)
		hooks, left, _ := mirrorOf(t, f, text+`,`+ofPods)
		if (len(hooks) == 1) != mirrored || mirrored == (len(left) == 1) {
			t.Errorf("%.40s: %v, %v", bundle, hooks, left)
		}
		if !mirrored && !strings.Contains(left[0], "hook.shop-app.svc") {
			t.Error(left)
		}
	}
}

func certificateFor(t *testing.T, authority bool, name string) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{name}, IsCA: authority,
		BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

func TestWebhooksAreMirroredOnlyWhereTheSiteHasOpenedThem(t *testing.T) {
	for _, c := range []struct {
		space  string
		site   tunnel.Allow
		parent *tunnel.Narrow
		opened bool
	}{
		{"shop", tunnel.Allow{Webhooks: []string{"shop"}}, nil, true},
		{"shop", tunnel.Allow{Webhooks: []string{"*"}}, nil, true},
		{"shop", tunnel.Allow{}, nil, false},
		{"shop", tunnel.Allow{Kinds: []string{"*"}, Controllers: []string{"*"},
			ClusterControllers: []string{"*"}}, nil, false},
		{"shop-b", tunnel.Allow{Webhooks: []string{"shop"}}, nil, false},
		{"shop", tunnel.Allow{Webhooks: []string{"shop"}}, &tunnel.Narrow{Webhooks: []string{"bank"}}, false},
		{"shop", tunnel.Allow{}, &tunnel.Narrow{Webhooks: []string{"shop"}}, false},
	} {
		p, err := Compile(c.site, c.parent)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Webhooks(c.space); (err == nil) != c.opened {
			t.Errorf("%+v: %v", c, err)
		} else if err != nil && !strings.Contains(err.Error(), "webhooks: ["+c.space+"]") {
			t.Error(err)
		}
		if c.opened != (len(p.Result().Webhooks) > 0) && c.space == "shop" {
			t.Errorf("%+v: result %v", c, p.Result().Webhooks)
		}
	}
	p, _ := Compile(tunnel.Allow{DenyKinds: []string{"mutatingwebhookconfigurations.*"}, Webhooks: []string{"*"}}, nil)
	if p.Kind(webhooksGroup, "mutatingwebhookconfigurations", false) == nil {
		t.Error("denyKinds does not hold")
	}
}

func FuzzMirror(f *testing.F) {
	f.Add([]byte(`{"webhooks":[{"name":"a",` + toHook + `,` + ofPods + `}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		out, _, err := Mirror("skerry-shop.x", body, shopAtSite())
		if err != nil {
			return
		}
		var c configuration
		if json.Unmarshal(out, &c) != nil {
			t.Fatal(string(out))
		}
		for i := range c.Webhooks {
			checkOwn(t, "fuzz", &c.Webhooks[i])
		}
	})
}
