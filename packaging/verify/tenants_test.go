package verify

import (
	"regexp"
	"strings"
	"testing"
)

var (
	// ofRoot is a command of skerry in a text that a kubeconfig of a space is refused for.
	ofRoot = regexp.MustCompile("`skerry (status|target|token|rebalance|ca|space create)[ `]")
	// tenant is how a page makes its reader use the kubeconfig of a space.
	tenant = "export KUBECONFIG=$PWD/shop.kubeconfig"
)

// TestTenantsAreShownTheirCommands: a page whose reader has the kubeconfig of a space names a command that needs
// the center's admin only in a sentence that says so.
func TestTenantsAreShownTheirCommands(t *testing.T) {
	seen := 0
	for _, page := range pages(t) {
		if !strings.Contains(page.text, tenant) || strings.Contains(page.text, "admin.kubeconfig") {
			continue
		}
		seen++
		for _, sentence := range forTenants(page.text) {
			t.Errorf("%s: a kubeconfig of a space is refused here, so say that it is for an admin: %s", page.path, sentence)
		}
	}
	if seen < 3 {
		t.Errorf("only %d pages for tenants are found: the test does not see them", seen)
	}
}

// forTenants are the sentences of a text with a command of the center's admin that do not name one.
func forTenants(text string) (out []string) {
	flat := regexp.MustCompile(`\s+`).ReplaceAllString(text, " ")
	for _, sentence := range strings.SplitAfter(flat, ". ") {
		if ofRoot.MatchString(sentence) && !strings.Contains(sentence, "admin") {
			out = append(out, sentence)
		}
	}
	return out
}

func TestCommandsOfAdminsAreFound(t *testing.T) {
	const text = "While it moves, `kubectl describe` and\n`skerry status --moves` say so. The admin has `skerry status`. " +
		"So have you `skerry explain placement`."
	if got := forTenants(text); len(got) != 1 || !strings.Contains(got[0], "--moves") {
		t.Errorf("found %q", got)
	}
}
