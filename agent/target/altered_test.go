package target

import (
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestCompare(t *testing.T) {
	for _, c := range []struct{ name, sent, got, removed, changed string }{
		{"equal", `{"spec":{"replicas":3}}`, `{"spec":{"replicas":3}}`, "", ""},
		{"defaults and what others add", `{"spec":{"a":1}}`,
			`{"spec":{"a":1,"b":2},"metadata":{"labels":{"x":"y"}},"status":{}}`, "", ""},
		{"a field taken off", `{"spec":{"template":{"spec":{"hostAliases":[{"ip":"192.0.2.1"}],"nodeName":"n"}}}}`,
			`{"spec":{"template":{"spec":{"nodeName":"n"}}}}`, ".spec.template.spec.hostAliases", ""},
		{"a whole tree", `{"data":{"a":"x","b":"y"}}`, `{}`, ".data", ""},
		{"labels, annotations, and nothing else of metadata",
			`{"metadata":{"name":"n","uid":"u","creationTimestamp":null,"labels":{"a.b/c":"1","d":"2"},"finalizers":["f"]}}`,
			`{"metadata":{"name":"n","labels":{"d":"2"}}}`, ".metadata.finalizers .metadata.labels[a.b/c]", ""},
		{"the mark of another site, which a relay's body has", `{"metadata":{"labels":{"skerry.dev/site":"relay","d":"2"}}}`,
			`{"metadata":{"labels":{"skerry.dev/site":"leaf","d":"2"}}}`, "", ""},
		{"changed", `{"spec":{"image":"a","n":1,"on":false}}`, `{"spec":{"image":"b","n":2,"on":true}}`, "",
			".spec.image .spec.n .spec.on"},
		{"empty values", `{"spec":{"a":{},"b":[],"c":"","d":0,"e":null,"f":false,"g":{"h":{"i":""},"j":false},"k":[{}]}}`,
			`{"spec":{"d":10}}`, "", ""},
		{"notations", `{"spec":{"cpu":"1000m","memory":1073741824,"port":"80","for":"60s","at":"2020-01-01T01:00:00+01:00",
			"ip":"2001:DB8::0","range":"2001:DB8::0/64"},"data":{"x":"aGVs\nbG8="}}`,
			`{"spec":{"cpu":"1","memory":"1Gi","port":80,"for":"1m0s","at":"2020-01-01T00:00:00Z","ip":"2001:db8::",
			"range":"2001:db8::/64"},"data":{"x":"aGVsbG8="}}`, "", ""},
		{"other quantities", `{"a":"1e999999999","b":"1000m"}`, `{"a":"1e999999998","b":"2"}`, "", ".a .b"},
		{"what comes before, and another order", `{"c":[{"name":"a","image":"x"},{"name":"b","args":["1","2"]}]}`,
			`{"c":[{"name":"proxy"},{"name":"b","args":["1","2"],"more":true},{"name":"a","image":"x"}]}`, "", ""},
		{"in an element", `{"c":[{"name":"a","env":[{"name":"E","value":"s"}],"image":"x"}]}`,
			`{"c":[{"name":"proxy"},{"name":"a","image":"y"}]}`, ".c[name=a].env", ".c[name=a].image"},
		{"an element", `{"c":[{"name":"a"},{"name":"b"}],"args":["--password=hush","x"]}`,
			`{"c":[{"name":"b"}],"args":["x"]}`, ".args[0] .c[name=a]", ""},
		{"ports of two protocols", `{"ports":[{"port":53,"protocol":"TCP"},{"port":53,"protocol":"UDP"}]}`,
			`{"ports":[{"port":53,"protocol":"UDP","nodePort":1},{"port":53,"protocol":"TCP","nodePort":2}]}`, "", ""},
		{"another type", `{"a":{"b":1},"c":["x"]}`, `{"a":"b","c":{"x":1}}`, "", ".a .c"},
		{"text that is data later", `{"stringData":{"a":"b"},"kind":"Secret"}`, `{"data":{"a":"Yg=="}}`, "", ""},
	} {
		a, err := Compare([]byte(c.sent), []byte(c.got))
		if err != nil || strings.Join(a.Removed, " ") != c.removed || strings.Join(a.Changed, " ") != c.changed {
			t.Errorf("%s: removed %q, changed %q, %v", c.name, a.Removed, a.Changed, err)
		}
	}
	long := `{"data":{"` + strings.Repeat("ä", 300) + `":"x"}}`
	if a, _ := Compare([]byte(long), []byte(`{"data":{}}`)); len(a.Removed) != 1 || len(a.Removed[0]) > maxPath+3 ||
		slices.ContainsFunc(a.Removed, func(p string) bool { return strings.Contains(p, "\uFFFD") }) {
		t.Errorf("a path of a long name: %q", a.Removed)
	}
	if _, err := Compare([]byte(`{`), []byte(`{}`)); err == nil {
		t.Error("what is no JSON is compared")
	}
}

// A target that answers with other lists does not keep the agent busy: without a bound the first takes
// years, and the second minutes.
func TestCompareIsBounded(t *testing.T) {
	nested := func(leaf string) string {
		return `{"spec":` + strings.Repeat("[1,", 30) + `"` + leaf + `"` + strings.Repeat("]", 30) + `}`
	}
	list := func(names []string) string { return `{"spec":["` + strings.Join(names, `","`) + `"]}` }
	names := make([]string, 50_000)
	for i := range names {
		names[i] = "name-" + strconv.Itoa(i)
	}
	for _, pair := range [][2]string{{nested("a"), nested("b")}, {list(names), list(names[1:])}} {
		if a, err := Compare([]byte(pair[0]), []byte(pair[1])); err != nil || !a.Partly {
			t.Errorf("compared partly: %t, %v", a.Partly, err)
		}
	}
}
