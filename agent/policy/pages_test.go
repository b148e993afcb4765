package policy

import (
	stdjson "encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"skerry.dev/skerry/tunnel"
)

// blockOfPage is a block of code of a page.
var blockOfPage = regexp.MustCompile("(?ms)^```[a-z]*\n(.*?)^```$")

// needed is the key of the configuration that a refusal names.
var needed = regexp.MustCompile(`can allow it by (\w+):`)

// kindsOfPages are the kinds of objects of pages that sites apply.
var kindsOfPages = map[string]string{
	"Deployment":            "deployments.apps",
	"PersistentVolumeClaim": "persistentvolumeclaims",
	"Pod":                   "pods",
	"Service":               "services",
	"StatefulSet":           "statefulsets.apps",
}

// TestPagesNameWhatTheyNeed: where the default policy refuses an object of a page, the page names the key that
// allows it.
func TestPagesNameWhatTheyNeed(t *testing.T) {
	pages, err := filepath.Glob("../../packaging/docs/*/*.md")
	if err != nil {
		t.Fatal(err)
	}
	baseline, seen := compile(t, tunnel.Allow{}, nil), 0
	for _, page := range pages {
		text, err := os.ReadFile(filepath.Clean(page))
		if err != nil {
			t.Fatal(err)
		}
		for kind, body := range objectsOf(string(text)) {
			seen++
			refusal := baseline.Object("shop", "web", kind, []byte(body), func(string) bool { return true })
			if refusal == nil {
				continue
			}
			key := needed.FindStringSubmatch(refusal.Error())
			if key == nil || !strings.Contains(string(text), key[1]) {
				t.Errorf("%s: a site refuses its %s, and the page does not say what allows it: %v", page, kind, refusal)
			}
		}
	}
	if seen < 5 {
		t.Errorf("only %d objects are found: the test does not see the pages", seen)
	}
}

// objectsOf yields the objects in a page's blocks, as JSON, by kind.
func objectsOf(page string) func(yield func(kind, body string) bool) {
	return func(yield func(kind, body string) bool) {
		for _, block := range blockOfPage.FindAllStringSubmatch(page, -1) {
			for _, text := range regexp.MustCompile(`(?m)^(---|END)$|^cat >.*$`).Split(block[1], -1) {
				body, err := yaml.YAMLToJSON([]byte(text))
				var of struct{ Kind string }
				if err != nil || stdjson.Unmarshal(body, &of) != nil || kindsOfPages[of.Kind] == "" {
					continue
				}
				if !yield(kindsOfPages[of.Kind], string(body)) {
					return
				}
			}
		}
	}
}
