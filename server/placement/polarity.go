package placement

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// GoodConditions says of types of conditions which of their values is good: true for True.
type GoodConditions map[string]bool

// ParseGoodConditions reads the annotation skerry.dev/conditions of a CustomResourceDefinition, such as
// "Healthy=True,OutOfSync=False".
func ParseGoodConditions(text string) (GoodConditions, error) {
	out := GoodConditions{}
	for one := range strings.SplitSeq(text, ",") {
		if one = strings.TrimSpace(one); one == "" {
			continue
		}
		kind, value, _ := strings.Cut(one, "=")
		if value != "True" && value != "False" {
			return nil, fmt.Errorf("%.80q: write TYPE=True or TYPE=False, the value that is good", one)
		}
		if wrong := validation.IsQualifiedName(kind); len(wrong) > 0 {
			return nil, fmt.Errorf("%.80q is no type of a condition: %s", kind, wrong[0])
		}
		if said, twice := out[kind]; twice && said != (value == "True") {
			return nil, fmt.Errorf("%.80q is said to be good as True and as False", kind)
		}
		out[kind] = value == "True"
	}
	return out, nil
}
