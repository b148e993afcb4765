package verify

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// Each metric that an example alert names stands in the list of metrics.
func TestAlertsNameMetrics(t *testing.T) {
	rules, err := os.ReadFile("../skerry.rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	listed, err := os.ReadFile("../../tunnel/OPERATIONS.md")
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`skerry_[a-z_]+`).FindAllString(string(rules), -1)
	if len(names) < 5 {
		t.Fatalf("the rules name %v", names)
	}
	for _, name := range names {
		if !strings.Contains(string(listed), "`"+name+"`") {
			t.Errorf("%s is not listed in tunnel/OPERATIONS.md", name)
		}
	}
}
