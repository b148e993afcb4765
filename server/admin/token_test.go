package admin

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"skerry.dev/skerry/tunnel/commandline"
)

// A new token is printed for people, for a file, and for programs; lines for people fit a terminal.
func TestPrintJoin(t *testing.T) {
	const parent = "https://center.example.com:7443"
	prints := func(format string, uses int) string {
		var out strings.Builder
		if err := PrintJoin(&out, format, parent, "skt1.id.secret.pin", 24*time.Hour, uses); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	if got := prints("token", 1); got != "skt1.id.secret.pin\n" {
		t.Errorf("the token alone: %q", got)
	}
	for format, decode := range map[string]func([]byte, any) error{"json": json.Unmarshal,
		"yaml": func(b []byte, v any) error { return yaml.Unmarshal(b, v) }} {
		var got map[string]any
		if err := decode([]byte(prints(format, 3)), &got); err != nil || got["token"] != "skt1.id.secret.pin" ||
			got["parent"] != parent || got["uses"] != 3.0 || got["expiresIn"] != "24h0m0s" {
			t.Errorf("%s: %v, %v", format, got, err)
		}
	}
	text := prints("", 1)
	for _, want := range []string{"within 24h:\n", "--token-file - <<END\nskt1.id.secret.pin\nEND\n",
		"The token joins one site", "sudo skerry install agent --parent " + parent + " --name SITE --set policy=baseline"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "  ") && len(line) > 108 {
			t.Errorf("%d columns: %s", len(line), line)
		}
	}
	if text := prints("", 20); !strings.Contains(text, "each of up to 20 workload clusters") ||
		!strings.Contains(text, "joins 20 sites") {
		t.Errorf("of many uses:\n%s", text)
	}
	if err := PrintJoin(&strings.Builder{}, "xml", parent, "x", time.Hour, 1); !errors.Is(err, commandline.ErrUsage) {
		t.Errorf("-o xml: %v", err)
	}
}
