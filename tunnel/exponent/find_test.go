package exponent

import (
	"strings"
	"testing"
)

func TestFind(t *testing.T) {
	for body, want := range map[string]string{
		`{"spec":{"containers":[{"resources":{"limits":{"cpu":"1e9999"}}}]}}`:         "spec.containers[0].resources.limits.cpu",
		`{"spec":{"hard":{"a":1e99999}}}`:                                             "spec.hard.a",
		`{"limits":{"a":"1e9999"},"limits":{"a":"1"}}`:                                "limits.a",
		`{"limits":{"a":"\u0031\u0065\u0039\u0039\u0039\u0039"}}`:                     "limits.a",
		`{"metrics":[{"external":{"target":{"value":"1e9999"}}}]}`:                    "metrics[0].external.target.value",
		`{"env":[{"name":"a","value":"1e9999"}]}`:                                     "",
		`{"metadata":{"labels":{"cpu":"1e9999"},"annotations":{"limits":"1e9999"}}}`:  "",
		`{"data":{"limits":"1e9999"},"stringData":{"max":"1e9999"}}`:                  "",
		`{"limits":{"a":"1e18","b":null,"c":true,"d":[]}}`:                            "",
		`{"limits":{"a":"1e9999"`:                                                     "",
		strings.Repeat("[", 20000) + `1e9999` + strings.Repeat("]", 20000):            "",
		`{"labels":[1,{"cpu":"1e9999"}],"spec":{"requests":["x",{"y":["1e-9999"]}]}}`: "spec.requests[1].y[0]",
	} {
		if got := Find([]byte(body)); got != want {
			t.Errorf("%.80s: %q instead of %q", body, got, want)
		}
	}
}

func TestFindIn(t *testing.T) {
	for _, c := range []struct {
		pointer, value, found string
		in                    bool
	}{
		{"/spec/limits/example.com~1gpu", `"1e9999"`, "spec.limits.example.com/gpu", true},
		{"/spec", `{"limits":{"a":"1e9999"}}`, "spec.limits.a", false},
		{"", `{"limits":{"a":"1e9999"}}`, ".limits.a", false},
		{"/metadata/annotations/cpu", `"1e9999"`, "", false},
		{"/spec/limits/cpu", ``, "", true},
	} {
		if found, in := FindIn(c.pointer, []byte(c.value)); found != c.found || in != c.in {
			t.Errorf("%s: %q %v", c.pointer, found, in)
		}
	}
}
