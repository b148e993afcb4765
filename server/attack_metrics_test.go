package server_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"skerry.dev/skerry/server/apiserver"
)

// madeUp is in all names that the attackers of metricLabels make up.
const madeUp = "madeup"

// metricLabels: eve, who has all rights in a space, makes definitions, policies and webhooks of ever new
// names, and uses them. None of the names is in a metric, where its series would never end.
func metricLabels(t *testing.T, c *center) {
	eve, _ := attackers(t, c, "metric-labels")
	do := func(method, path, body string) {
		t.Helper()
		if code, answer := eve.do(method, path, body); code >= 300 {
			t.Fatal(method, path, code, answer)
		}
	}
	const name, at = madeUp + "s", "/apis/" + madeUp + ".org/v1alpha77/"
	do("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", fmt.Sprintf(`{
		"metadata":{"name":"%[1]ss.%[1]s.org"},
		"spec":{"group":"%[1]s.org","scope":"Namespaced","names":{"plural":"%[1]ss","singular":"%[1]s","kind":"Madeup",
		"listKind":"MadeupList"},"versions":[{"name":"v1alpha77","served":true,"storage":true,"subresources":{"status":{}},
		"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}`, madeUp))
	const rules = `[{"apiGroups":[""],"apiVersions":["v1"],"operations":["*"],"resources":["configmaps"]}]`
	const binding = `{"metadata":{"name":"` + madeUp + `"},"spec":{"policyName":"` + madeUp + `"`
	const webhook = `{"metadata":{"name":"` + madeUp + `"},"webhooks":[{"name":"` + madeUp + `.example.com",
		"sideEffects":"None","timeoutSeconds":1,"failurePolicy":"Ignore",
		"admissionReviewVersions":["v1"],"rules":` + rules + `,
		"matchConditions":[{"name":"` + madeUp + `","expression":"CONDITION"}],
		"clientConfig":{"service":{"namespace":"default","name":"` + madeUp + `"}}}]}`
	for path, body := range map[string]string{
		"validatingadmissionpolicies": `{"metadata":{"name":"` + madeUp + `"},"spec":{"failurePolicy":"Ignore",
			"matchConstraints":{"resourceRules":` + rules + `},"validations":[{"expression":"object.data.nothing == 'a'"}]}}`,
		"validatingadmissionpolicybindings": binding + `,"validationActions":["Warn"]}}`,
		"mutatingadmissionpolicies": `{"metadata":{"name":"` + madeUp + `"},"spec":{"failurePolicy":"Ignore",
			"reinvocationPolicy":"Never","matchConstraints":{"resourceRules":` + rules + `},"mutations":[{
			"patchType":"JSONPatch",
			"jsonPatch":{"expression":"[JSONPatch{op: 'add', path: '/data/seen', value: 'x'}]"}}]}}`,
		"mutatingadmissionpolicybindings": binding + `}}`,
		"validatingwebhookconfigurations": strings.Replace(webhook, "CONDITION", "object.data.nothing == 'a'", 1),
		"mutatingwebhookconfigurations":   strings.Replace(webhook, "CONDITION", "true", 1),
	} {
		do("POST", "/apis/admissionregistration.k8s.io/v1/"+path, body)
	}
	within(t, time.Minute, "her rules are asked", func() bool {
		_, answer := eve.do("POST", "/api/v1/namespaces/default/configmaps",
			`{"metadata":{"generateName":"a-"},"data":{"a":"b"}}`)
		return strings.Contains(answer, "seen")
	})
	within(t, time.Minute, "her definition is served", func() bool {
		code, _ := eve.do("GET", at+name, "")
		return code == http.StatusOK
	})
	ns := at + "namespaces/default/" + name
	const object = `{"apiVersion":"madeup.org/v1alpha77","kind":"Madeup","metadata":{"name":"madeup"}`
	do("POST", ns, object+`}`)
	do("GET", ns+"/"+madeUp, "")
	do("GET", ns, "")
	do("PATCH", ns+"/"+madeUp, `application/merge-patch+json {"metadata":{"labels":{"a":"b"}}}`)
	do("PATCH", ns+"/"+madeUp+"/status", `application/merge-patch+json {"status":{"a":"b"}}`)
	do("PATCH", ns+"/"+madeUp+"?fieldManager="+madeUp, `application/apply-patch+yaml `+object+`}`)
	ctx, cancel := context.WithCancel(t.Context())
	r := httptest.NewRequest("GET", "https://center.test/clusters/"+eve.space+at+name+"?watch=true", nil)
	r.TLS = eve.who.tls
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		eve.h.ServeHTTP(httptest.NewRecorder(), r.WithContext(ctx))
	}()
	do("DELETE", ns, "")
	cancel()
	<-watched
	for _, path := range []string{at + madeUp + "x", "/apis/" + madeUp + "x.org/v1/a", "/" + madeUp, "/api/v1/" + madeUp} {
		eve.do("GET", path, "")
	}
	all, err := apiserver.Gatherer().Gather()
	must(t, err)
	known, unexpected := 0, 0
	for _, f := range all {
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if strings.Contains(l.GetValue(), madeUp) || strings.Contains(l.GetValue(), "alpha77") {
					t.Errorf("%s has %s=%q", f.GetName(), l.GetName(), l.GetValue())
				}
				if l.GetValue() == "unexpected" {
					unexpected++
				}
				if l.GetValue() == "configmaps" {
					known++
				}
			}
		}
	}
	if unexpected == 0 || known == 0 {
		t.Errorf("%d series of what users name, %d of ConfigMaps", unexpected, known)
	}
}
