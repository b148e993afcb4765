package summary

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"unicode/utf8"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/store"
)

// TestASiteSaysNoMoreThanItsObjectCanShow: what one site says at length does not keep what is said of the
// object elsewhere from being shown.
func TestASiteSaysNoMoreThanItsObjectCanShow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t)
		secret := key("", "secrets", "plain")
		c.place(secret, "v1", "Secret", "a", "b")
		long := strings.Repeat("é", 1<<19)
		for _, site := range []string{"a", "b"} {
			c.says(site, secret, &store.Report{OriginUID: "uid-plain",
				Error: &store.ReportError{Reason: "X\x1b[2J" + long, Message: long}})
		}
		var said store.ReportError
		c.eventually("marked", func() bool {
			o, _ := c.Get(t.Context(), secret, "")
			meta, _ := o["metadata"].(map[string]any)
			notes, _ := meta["annotations"].(map[string]any)
			text, _ := notes[v1alpha1.AnnotationRefused].(string)
			return json.Unmarshal([]byte(text), &said) == nil
		})
		if len(said.Message) > 24<<10 || said.Reason != "Refused" || !utf8.ValidString(said.Message) {
			t.Errorf("%d bytes, reason %.80q", len(said.Message), said.Reason)
		}
	})
}
