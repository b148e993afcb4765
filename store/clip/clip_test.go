package clip_test

import (
	"strings"
	"testing"

	"skerry.dev/skerry/store/clip"
)

func TestClip(t *testing.T) {
	for _, c := range []struct {
		s            string
		most         int
		text, dotted string
	}{
		{"", 3, "", ""},
		{"abc", 3, "abc", "abc"},
		{"abcd", 3, "abc", "abc..."},
		{"aäb", 2, "a", "a..."},
		{"aä", 3, "aä", "aä"},
		{"a\xffb", 9, "ab", "a\xffb"},
		{"abc", 0, "", "..."},
	} {
		if got := clip.Text(c.s, c.most); got != c.text {
			t.Errorf("Text(%q, %d) = %q", c.s, c.most, got)
		}
		if got := clip.Dotted(c.s, c.most); got != c.dotted {
			t.Errorf("Dotted(%q, %d) = %q", c.s, c.most, got)
		}
	}
	if long := strings.Repeat("ä", 100); len(clip.Text(long, 151)) != 150 {
		t.Error("a character is cut in two, or too much is cut")
	}
}
