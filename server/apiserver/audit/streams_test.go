package audit

import "testing"

// TestFirstWord: of a command line the audit log has the first word alone.
func TestFirstWord(t *testing.T) {
	for uri, want := range map[string]string{
		"/p/exec?command=mysql&command=-psecret&container=db": "/p/exec?command=mysql&container=db",
		"/p/exec?container=db&command=sh":                     "/p/exec?container=db&command=sh",
		"/p/exec?command=a&%63ommand=secret":                  "/p/exec?command=a",
		"/p/exec?command=a&command&command=":                  "/p/exec?command=a",
		"/p/exec?command=a&comm%zzand=secret":                 "/p/exec?command=a",
		"/p/log?container=db":                                 "/p/log?container=db",
		"/p":                                                  "/p",
	} {
		if got := firstWord(uri); got != want {
			t.Errorf("%s: %s, want %s", uri, got, want)
		}
	}
}
