package scenarios

import "testing"

func TestPageScript(t *testing.T) {
	page := "# A\n\n```sh\none \\\n  # two\n```\n\n## To read\n\n```yaml\nno: command\n```\n\n" +
		"## It's 2\n\n### below\n\n```sh\nthree\n```\n\n## Last\n\n```sh\nfour\n```\n"
	for _, c := range []struct {
		section, want string
		blocks        int
	}{
		{"", ": a.md:3\none \\\n  # two\n: a.md:18\nthree\n: a.md:24\nfour\n", 3},
		{"its-2", ": a.md:18\nthree\n", 1},
		{"to-read", "", 0},
		{"unknown", "", 0},
	} {
		script, blocks := pageScript("a.md", c.section, page)
		if want := "set -euo pipefail\nset -x\n" + c.want; script != want || blocks != c.blocks {
			t.Errorf("%q: got %d blocks\n%s\nwant %d\n%s", c.section, blocks, script, c.blocks, want)
		}
	}
}
