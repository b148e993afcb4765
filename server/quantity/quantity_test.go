package quantity

import (
	"testing"
	"time"

	"skerry.dev/skerry/tunnel/exponent"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]bool{
		"1e1000": true, "1e9999999": true, "1E99999": true, "-1e2147483647": true, "+1.5e+99999": true,
		"12345678901234567890123e99999999": true, "1e-99999999": true, ".5e1000": true, "0e0000": true,
		"1e18": false, "1E": false, "1Ei": false, "1e999": false, "100m": false, "": false, "e1000": false, "1e": false,
		"1e10000x": false, "sha1e10000": false, "1e+": false, "1ee1000": false, "-": false,
	} {
		if exponent.Absurd(text) != want {
			t.Errorf("%q: %v", text, !want)
		}
		began := time.Now()
		q, err := Parse(text)
		if want && err == nil {
			t.Errorf("%q is parsed", text)
		}
		if err == nil {
			q.Add(q)
			_ = q.String()
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("%q took %v", text, took)
		}
	}
}
