package specs

import (
	"os"
	"regexp"
	"testing"

	"github.com/onsi/ginkgo/v2"

	"skerry.dev/skerry/testenv/upstream"
)

// groups are those whose specs are declared.
var groups = regexp.MustCompile(`^\[sig-(api-machinery|auth|apps)\] `)

// TestDeclared holds specs.yaml to what upstream has: every spec of the three groups is listed
// exactly once.
func TestDeclared(t *testing.T) {
	if os.Getenv(specsVariable) != "" {
		t.Skip("this process is to run specs")
	}
	declared, err := upstream.Load("../specs.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var existing []string
	seen := map[string]bool{}
	for _, r := range ginkgo.PreviewSpecs(suiteName).SpecReports {
		text := r.FullText()
		if !groups.MatchString(text) { // what the three packages import registers itself, too
			continue
		}
		if seen[text] {
			t.Errorf("upstream has two specs of one text: %s", text)
		}
		seen[text] = true
		existing = append(existing, text)
	}
	if err := declared.Check(existing); err != nil {
		t.Error(err)
	}
}
