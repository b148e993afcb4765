package placement

import "testing"

func TestParseGoodConditions(t *testing.T) {
	got, err := ParseGoodConditions("Healthy=True, example.org/OutOfSync=False,")
	if err != nil || len(got) != 2 || !got["Healthy"] || got["example.org/OutOfSync"] {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []string{"Healthy", "Healthy=good", "=True", "a b=True", "Ready=True,Ready=False"} {
		if got, err := ParseGoodConditions(bad); err == nil {
			t.Errorf("%q is understood as %v", bad, got)
		}
	}
}
