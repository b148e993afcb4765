package server_test

import (
	"encoding/json"
	"strings"
	"testing"
)

// expressionPlaces are objects of a space with an expression of a tenant, at EXPR, that somebody else
// evaluates. SELF is what it sees.
var expressionPlaces = []struct{ path, self, body string }{
	{"validatingadmissionpolicies", "object", `{"spec":{"matchConstraints":RULES,"validations":[{"expression":EXPR}]}}`},
	{"validatingadmissionpolicies", "object", `{"spec":{"matchConstraints":RULES,
		"variables":[{"name":"a","expression":EXPR}],"validations":[{"expression":"variables.a"}]}}`},
	{"validatingadmissionpolicies", "object", `{"spec":{"matchConstraints":RULES,
		"validations":[{"expression":"false","messageExpression":"string(" + EXPR + ")"}]}}`},
	{"validatingadmissionpolicies", "object", `{"spec":{"matchConstraints":RULES,"validations":[{"expression":"true"}],
		"auditAnnotations":[{"key":"a","valueExpression":"string(" + EXPR + ")"}]}}`},
	{"validatingadmissionpolicies", "object", `{"spec":{"matchConstraints":RULES,"validations":[{"expression":"true"}],
		"matchConditions":[{"name":"a","expression":EXPR}]}}`},
	{"mutatingadmissionpolicies", "object", `{"spec":{"matchConstraints":RULES,"reinvocationPolicy":"Never",
		"matchConditions":[{"name":"a","expression":EXPR}],"mutations":[{"patchType":"JSONPatch",
		"jsonPatch":{"expression":"[JSONPatch{op: 'test', path: '/a'}]"}}]}}`},
	{"mutatingadmissionpolicies", "object", `{"spec":{"matchConstraints":RULES,"reinvocationPolicy":"Never",
		"mutations":[{"patchType":"JSONPatch","jsonPatch":{"expression":"" + EXPR + " ? [JSONPatch{op: 'test', path: '/a'}] : [JSONPatch{op: 'test', path: '/b'}]"}}]}}`},
	{"mutatingadmissionpolicies", "object", `{"spec":{"matchConstraints":RULES,"reinvocationPolicy":"Never",
		"mutations":[{"patchType":"ApplyConfiguration","applyConfiguration":
		{"expression":"" + EXPR + " ? Object{} : Object{}"}}]}}`},
	{"validatingwebhookconfigurations", "object", `{"webhooks":[{"name":"a.b.c","sideEffects":"None",
		"admissionReviewVersions":["v1"],"clientConfig":{"service":{"namespace":"default","name":"a"}},
		"matchConditions":[{"name":"a","expression":EXPR}]}]}`},
	{"mutatingwebhookconfigurations", "object", `{"webhooks":[{"name":"a.b.c","sideEffects":"None",
		"admissionReviewVersions":["v1"],"clientConfig":{"service":{"namespace":"default","name":"a"}},
		"matchConditions":[{"name":"a","expression":EXPR}]}]}`},
	{"customresourcedefinitions", "self", definitionBody(`{"type":"object","x-kubernetes-preserve-unknown-fields":true,
		"properties":` + expressionFields + `,"x-kubernetes-validations":[{"rule":EXPR}]}`)},
	{"customresourcedefinitions", "self", definitionBody(`{"type":"object","properties":{"spec":{"type":"array",
		"maxItems":2,"items":{"type":"object","properties":` + expressionFields + `,
		"x-kubernetes-validations":[{"rule":"false","messageExpression":"string(" + EXPR + ")"}]}}}}`)},
	{"customresourcedefinitions", "self", definitionBody(`{"type":"object","properties":{"spec":{"type":"object",
		"maxProperties":2,"additionalProperties":{"type":"object","properties":` + expressionFields + `,
		"x-kubernetes-validations":[{"rule":EXPR}]}}}}`)},
}

const expressionFields = `{"a":{"type":"string","maxLength":900},
	"l":{"type":"array","maxItems":50,"items":{"type":"string","maxLength":9}}}`

func definitionBody(schema string) string {
	return `{"metadata":{"name":"bombs.example.org"},"spec":{"group":"example.org","scope":"Namespaced",
		"names":{"plural":"bombs","singular":"bomb","kind":"Bomb","listKind":"BombList"},
		"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":` + schema + `}}]}}`
}

const expressionRules = `{"resourceRules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],
	"resources":["configmaps"]}]}`

// expressionBombs take much memory or time for next to no cost in CEL. One is no bomb.
var expressionBombs = []struct {
	text string
	bomb bool
}{
	{"SELF.a.replace('a', SELF.a) != ''", true},
	{"lists.range(2000000000).size() > 0", true},
	{"'%.999999f'.format([1.0]) != ''", true},
	{"[1, 2, 3].map(i, SELF.a).join(SELF.a) != ''", true},
	{"sets.contains(SELF.l, SELF.l)", true},
	{"SELF.l.distinct().size() > 0", true},
	{"SELF.a.matches('" + strings.Repeat("(a{0,1000})", 30) + "')", true},
	{"SELF.a.matches(SELF.a)", true},
	{"SELF.a.matches('^[a-z]{1,63}$')", false},
	{"SELF.a.replace('a', 'b') != ''", false},
}

// costlyExpressions: eve has all rights in a space, and writes expressions that the center evaluates,
// or the API server and the scheduler of a site. None is evaluated here.
func costlyExpressions(t *testing.T, c *center) {
	eve, mallory := attackers(t, c, "expressions")
	tries, through := 0, 0
	for _, place := range expressionPlaces {
		at := "/apis/admissionregistration.k8s.io/v1/"
		if place.self == "self" {
			at = "/apis/apiextensions.k8s.io/v1/"
		}
		for _, e := range expressionBombs {
			text, err := json.Marshal(strings.ReplaceAll(e.text, "SELF", place.self))
			must(t, err)
			inner := strings.Trim(string(text), `"`)
			body := strings.NewReplacer(`" + EXPR + "`, inner, "EXPR", string(text), "RULES", expressionRules).Replace(place.body)
			if !strings.Contains(body, `"metadata"`) {
				body = `{"metadata":{"name":"a"},` + body[1:]
			}
			code, answer := eve.do("POST", at+place.path+"?dryRun=All", body)
			switch {
			case !e.bomb && code != 201:
				t.Errorf("%s: %s is refused: %d %.300s", place.path, e.text, code, answer)
			case e.bomb && code < 400 && place.self == "self" && !strings.Contains(e.text, "replace"):
				// its schema bounds what it sees, and upstream estimates by that
			case e.bomb && code < 400:
				through++
				t.Errorf("%s: %s is stored", place.path, inner)
			case e.bomb && !strings.Contains(answer, "may ") && !strings.Contains(answer, "digits") &&
				!strings.Contains(answer, "estimated"): // which upstream says of definitions
				t.Errorf("%s: %s is refused as %d %.300s", place.path, inner, code, answer)
			}
			if e.bomb {
				tries++
			}
		}
	}
	for _, schema := range []string{
		`{"type":"object","properties":{"a":{"type":"string","pattern":PATTERN}}}`,
		`{"type":"object","properties":{"a":{"type":"array","items":{"type":"string","anyOf":[{"pattern":PATTERN}]}}}}`,
		`{"type":"object","properties":{"a":{"type":"object","additionalProperties":{"type":"string","pattern":PATTERN}}}}`,
	} {
		tries++
		pattern := `"` + strings.Repeat("(a{0,1000})", 30) + `"`
		code, answer := eve.do("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All",
			definitionBody(strings.ReplaceAll(schema, "PATTERN", pattern)))
		if code != 422 || !strings.Contains(answer, "regular expressions of") {
			through++
			t.Errorf("%s is answered with %d %.300s", schema, code, answer)
		}
	}
	t.Logf("%d tries, %d got through", tries, through)
	const policies = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
	if code, _ := mallory.do("POST", policies, `{}`); code != 403 {
		t.Errorf("mallory: %d", code)
	}
}
