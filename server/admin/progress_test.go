package admin

import (
	"strings"
	"testing"
	"time"
)

func TestProgress(t *testing.T) {
	var out strings.Builder
	p := &Progress{out: &out, every: time.Hour}
	p.Step("checking %s", "file")
	p.Step("checking %s", "file")
	p.Count("objects written", 1, 40)
	p.Count("objects written", 2, 40) // too soon
	p.Done()
	if want := "checking file\nobjects written: 1 of 40 (2 %)\n"; out.String() != want {
		t.Errorf("elsewhere\n got %q\nwant %q", out.String(), want)
	}
	out.Reset()
	p = &Progress{out: &out, width: 12}
	p.Step("one")
	p.Step("a step that is long")
	p.Count("objects", 7, 0)
	p.Done()
	p.Done()
	if want := "\rone\x1b[K\ra step tha…\x1b[K\robjects: 7\x1b[K\r\x1b[K"; out.String() != want {
		t.Errorf("on a terminal\n got %q\nwant %q", out.String(), want)
	}
	var quiet *Progress
	quiet.Step("nothing")
	quiet.Count("nothing", 1, 2)
	quiet.Done()
}

func TestFitsTheScreen(t *testing.T) {
	text := "NAME   STATE\n" + strings.Repeat("x", 30) + "\nthree\nfour\nfive\n"
	want := "NAME   STATE\x1b[K\n" + strings.Repeat("x", 19) + "…\x1b[K\n... 3 more lines\x1b[K\n"
	if got := fit(text, 20, 4); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	hint := "paris is away: run systemctl status skerry-agent\n    do: look there again\n"
	want = "paris is away: run\x1b[K\nsystemctl status\x1b[K\nskerry-agent\x1b[K\n    do: look there\x1b[K\n    again\x1b[K\n"
	if got := fit(hint, 20, 40); got != want {
		t.Errorf("sentences are cut: %q", got)
	}
	site := "Connected   False (NoSession): run systemctl status\n"
	want = "Connected   False (NoSession): run\x1b[K\n            systemctl status\x1b[K\n"
	if got := fit(site, 35, 40); got != want {
		t.Errorf("a text behind its title: %q", got)
	}
	if got := fit("NAME   CONNECTED   SYNCED\n", 20, 40); got != "NAME   CONNECTED   …\x1b[K\n" {
		t.Errorf("a row of a table: %q", got)
	}
	if got := fit("one\ntwo\n", 20, 40); got != "one\x1b[K\ntwo\x1b[K\n" {
		t.Errorf("what fits is cut: %q", got)
	}
}

// A terminal without UTF-8 gets lines and dots that it can show, in as many columns.
func TestLocale(t *testing.T) {
	const tree = "├─ eu\n│  └─ paris…\n"
	for _, c := range []struct{ all, ctype, lang, want string }{
		{"", "", "", tree},
		{"", "", "C", "|- eu\n|  `- paris>\n"},
		{"", "", "de_DE.UTF-8", tree},
		{"C", "", "de_DE.UTF-8", "|- eu\n|  `- paris>\n"},
		{"C.utf8", "C", "C", tree},
		{"", "en_US.ISO-8859-1", "en_US.UTF-8", "|- eu\n|  `- paris>\n"},
	} {
		t.Setenv("LC_ALL", c.all)
		t.Setenv("LC_CTYPE", c.ctype)
		t.Setenv("LANG", c.lang)
		var out strings.Builder
		if n, err := (localized{&out}).Write([]byte(tree)); n != len(tree) || err != nil || out.String() != c.want {
			t.Errorf("%+v: %q", c, out.String())
		}
	}
}
