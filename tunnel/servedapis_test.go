package tunnel

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

func TestAParentTakesABoundedOffer(t *testing.T) {
	said := &ClusterOffer{
		Versions:  []string{"v1", "apps/v1", "apps/v1", "Apps/v1", "apps/../v1", "x/" + strings.Repeat("v", 400)},
		Resources: []string{"stable.example.com/v1/widgets", "stable.example.com/v1", "a/v1/b/c", "a/v1/b\n"},
		Properties: map[string]string{
			"cluster.clusterset.k8s.io": "eu-1", "Bad Name": "x", "long": strings.Repeat("x", 257), "line": "a\nb",
			"empty": "",
		},
	}
	want := &ClusterOffer{
		Versions:   []string{"apps/v1", "v1"},
		Resources:  []string{"stable.example.com/v1/widgets"},
		Properties: map[string]string{"cluster.clusterset.k8s.io": "eu-1", "empty": ""},
	}
	if got := said.Bounded(); !reflect.DeepEqual(got, want) {
		t.Errorf("taken: %+v", got)
	}
	many := &ClusterOffer{Properties: map[string]string{}}
	for i := range MaxServed + 1 {
		many.Resources = append(many.Resources, fmt.Sprintf("a.example.com/v1/r%d", i))
		many.Properties[fmt.Sprint("p", i)] = "x"
	}
	if got := many.Bounded(); !got.Incomplete || len(got.Resources) != MaxServed || len(got.Properties) != MaxProperties {
		t.Errorf("of many: %v %d %d", got.Incomplete, len(got.Resources), len(got.Properties))
	}
}

func FuzzClusterOffer(f *testing.F) {
	f.Add(`{"versions":["v1"],"resources":["a/v1/b"],"properties":{"a":"b"}}`)
	f.Fuzz(func(t *testing.T, text string) {
		var said ClusterOffer
		if json.Unmarshal([]byte(text), &said) != nil {
			return
		}
		once := said.Bounded()
		if again := once.Bounded(); !reflect.DeepEqual(once, again) {
			t.Errorf("%+v becomes %+v", once, again)
		}
		if len(once.Versions) > MaxServed || len(once.Resources) > MaxServed || len(once.Properties) > MaxProperties {
			t.Errorf("taken: %+v", once)
		}
	})
}
