package exchange

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// TestWarnings: what an answer lacks crosses as it was said, within bounds, and what is no warning
// of ours makes the answer wrong.
func TestWarnings(t *testing.T) {
	h := http.Header{}
	SetWarnings(h, []string{"site oslo: no \"metrics\"", "zwölf\n\x1b[31m", strings.Repeat("é", 400)})
	out, err := passing(nil, 200, h)
	if err != nil {
		t.Fatal(err)
	}
	got := Warnings(out)
	if len(got) != 3 || got[0] != "site oslo: no \"metrics\"" || got[1] != "zwölf  [31m" ||
		len(got[2]) > maxWarning || !strings.HasSuffix(got[2], "é...") {
		t.Errorf("warnings %q", got)
	}
	SetWarnings(h, slices.Repeat([]string{"one"}, 100))
	if got := Warnings(h); len(got) != maxWarnings || got[maxWarnings-1] != "69 further warnings are left out" {
		t.Errorf("of a hundred warnings: %d, the last %q", len(got), got[len(got)-1])
	}
	for what, values := range map[string][]string{
		"too many": slices.Repeat([]string{"one"}, maxWarnings+1), "a line break": {"a%0Ab"}, "no escape": {"%"},
		"nothing": {""}, "too long": {strings.Repeat("a", maxWarning+1)}, "no UTF-8": {"%ff"},
	} {
		if _, err := passing(nil, 200, http.Header{headerWarning: values}); !errors.Is(err, ErrAnswer) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func FuzzWarning(f *testing.F) {
	f.Add("site+oslo%3A+away")
	f.Add("%ff")
	f.Fuzz(func(t *testing.T, value string) {
		text, err := readWarning(value)
		if err != nil {
			return
		}
		again, err := readWarning(url.QueryEscape(text))
		if err != nil || again != text || len(text) > maxWarning || strings.ContainsAny(text, "\r\n\x00") {
			t.Errorf("%q became %q and %q: %v", value, text, again, err)
		}
	})
}
