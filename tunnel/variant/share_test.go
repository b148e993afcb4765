package variant

import (
	"strings"
	"testing"
)

func TestShare(t *testing.T) {
	const base = `{"metadata":{"annotations":{"a":"b","skerry.dev/shares":"{\"oslo\":1,\"paris\":2}"}},"spec":{"replicas":3}}`
	for name, want := range map[string]string{"paris": "2", "oslo": "1", "nyc": "0"} {
		out, divided, err := Share([]byte(base), name)
		if want := `{"metadata":{"annotations":{"a":"b"}},"spec":{"replicas":` + want + `}}`; err != nil || !divided || string(out) != want {
			t.Errorf("%s gets %s (%t, %v), want %s", name, out, divided, err, want)
		}
	}
	plain := `{"metadata":{"annotations":{"a":"b"}},"spec":{"replicas":3}}`
	if out, divided, err := Share([]byte(plain), "paris"); err != nil || divided || string(out) != plain {
		t.Errorf("what is not divided became %s (%t, %v)", out, divided, err)
	}
	const scaled = `{"metadata":{"annotations":{"skerry.dev/scales":"{\"oslo\":[0,1],\"paris\":[2,5]}"}},"spec":{"maxReplicas":6}}`
	for name, want := range map[string]string{"paris": `"maxReplicas":5,"minReplicas":2`, "oslo": `"maxReplicas":1,"minReplicas":0`,
		"nyc": `"maxReplicas":1,"minReplicas":1`} {
		out, divided, err := Share([]byte(scaled), "former", name)
		if want := `{"metadata":{"annotations":{}},"spec":{` + want + `}}`; err != nil || !divided || string(out) != want {
			t.Errorf("an autoscaler at %s is %s (%t, %v), want %s", name, out, divided, err, want)
		}
	}
	const kept = `{"metadata":{"annotations":{"skerry.dev/budgets":"{\"oslo\":{\"maxUnavailable\":1},\"paris\":{\"minAvailable\":0}}"}},` +
		`"spec":{"minAvailable":3}}`
	for name, want := range map[string]string{"paris": `"minAvailable":0`, "oslo": `"maxUnavailable":1,"minAvailable":3`,
		"nyc": `"minAvailable":3`} {
		out, divided, err := Share([]byte(kept), "former", name)
		if want := `{"metadata":{"annotations":{}},"spec":{` + want + `}}`; err != nil || !divided || string(out) != want {
			t.Errorf("a budget at %s is %s (%t, %v), want %s", name, out, divided, err, want)
		}
	}
	for _, bad := range []string{
		`{"metadata":{"annotations":{"skerry.dev/budgets":"{\"paris\":{\"minAvailable\":-1}}"}},"spec":{}}`,
		`{"metadata":{"annotations":{"skerry.dev/scales":"{\"paris\":3}"}},"spec":{}}`,
		`{"metadata":{"annotations":{"skerry.dev/shares":"{\"paris\":-1}"}},"spec":{}}`,
		`{"metadata":{"annotations":{"skerry.dev/shares":"{\"paris\":4294967296}"}},"spec":{}}`,
		`{"metadata":{"annotations":{"skerry.dev/shares":"x"}},"spec":{}}`,
		`{"metadata":{"annotations":{"skerry.dev/shares":"{}"}}}`,
		`"skerry.dev/shares`,
	} {
		if out, divided, err := Share([]byte(bad), "paris"); err == nil || divided || string(out) != bad ||
			!strings.Contains(err.Error(), "annotation") && !strings.Contains(err.Error(), "decode") {
			t.Errorf("%s became %s (%t, %v)", bad, out, divided, err)
		}
	}
}
