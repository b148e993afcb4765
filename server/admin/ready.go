package admin

import (
	"context"
	"regexp"
	"strings"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// failedCheck is a line of /readyz of what is not ready.
var failedCheck = regexp.MustCompile(`(?m)^\[-\](\S+) failed`)

// notReady names what of the center is not ready; it is empty where all is, or where the center
// does not answer that question.
func notReady(ctx context.Context, config *rest.Config) string {
	client, err := rest.UnversionedRESTClientFor(dynamic.ConfigFor(config))
	if err != nil {
		return ""
	}
	body, err := client.Get().AbsPath("/readyz").DoRaw(ctx)
	if err == nil {
		return ""
	}
	return failures(string(body))
}

func failures(body string) string {
	var names []string
	for _, m := range failedCheck.FindAllStringSubmatch(body, -1) {
		names = append(names, m[1])
	}
	return strings.Join(names, ", ")
}
