package admin

import "testing"

func TestNotReady(t *testing.T) {
	for body, want := range map[string]string{
		"ok": "",
		"[+]ping ok\n[-]store failed: reason withheld\n[+]spaces ok\n[-]center failed: reason withheld\nreadyz check failed\n": "store, center",
	} {
		if got := failures(body); got != want {
			t.Errorf("%q: %q, want %q", body, got, want)
		}
	}
}
