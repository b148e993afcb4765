package tunnel

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

func TestAParentTakesWellFormedFactsAlone(t *testing.T) {
	long := strings.Repeat("x", 300)
	said := &ClusterFacts{
		Nodes: 3, Ready: 5, OperatingSystem: "linux", Architecture: "arm64\n",
		Capacity:    map[string]string{"cpu": "4", "memory": "16Gi", "bad name": "1", "pods": "ten", "x": long},
		Allocatable: map[string]string{"cpu": "3900m"},
		Allocated:   map[string]string{"cpu": "1", "memory": "-1"}, Placed: map[string]string{"cpu": "500m"},
		Unread: []string{"secrets", "pods", "nodes", "pods"}, Quota: true,
		Classes: []ClusterClass{
			{Kind: "StorageClass", Name: "fast", By: "rancher.io/local-path", Default: true},
			{Kind: "StorageClass", Name: "fast", By: "again"},
			{Kind: "Secret", Name: "fast"},
			{Kind: "IngressClass", Name: "Bad Name"},
			{Kind: "IngressClass", Name: long},
			{Kind: "IngressClass", Name: "nginx", By: "k8s.io/ingress nginx"},
		},
	}
	want := &ClusterFacts{
		Nodes: 3, Ready: 3, OperatingSystem: "linux",
		Capacity:    map[string]string{"cpu": "4", "memory": "16Gi"},
		Allocatable: map[string]string{"cpu": "3900m"},
		Allocated:   map[string]string{"cpu": "1"}, Placed: map[string]string{"cpu": "500m"},
		Unread: []string{"nodes", "pods"}, Quota: true,
		Classes: []ClusterClass{
			{Kind: "IngressClass", Name: "nginx"},
			{Kind: "StorageClass", Name: "fast", By: "rancher.io/local-path", Default: true},
		},
	}
	if got := said.bounded(); !reflect.DeepEqual(got, want) {
		t.Errorf("taken: %+v", got)
	}
	many := &ClusterFacts{Capacity: map[string]string{}}
	for i := range 200 {
		many.Capacity[fmt.Sprintf("r%d", i)] = "1"
		many.Classes = append(many.Classes, ClusterClass{Kind: "StorageClass", Name: fmt.Sprintf("c%d", i)})
	}
	if got := many.bounded(); got.Capacity != nil || len(got.Classes) != MaxClasses {
		t.Errorf("%d resources, %d classes", len(got.Capacity), len(got.Classes))
	}
}

func FuzzClusterFacts(f *testing.F) {
	f.Add(`{"nodes":2,"capacity":{"cpu":"1"},"classes":[{"kind":"StorageClass","name":"a"}]}`)
	f.Add(`{"nodes":-1,"ready":9,"capacity":{"":""},"classes":[{"kind":"PriorityClass","name":"-"}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		var said ClusterFacts
		if json.Unmarshal([]byte(text), &said) != nil {
			return
		}
		once := said.bounded()
		if again := once.bounded(); !reflect.DeepEqual(once, again) {
			t.Errorf("%+v becomes %+v", once, again)
		}
		if once.Ready > once.Nodes || once.Nodes < 0 || len(once.Classes) > MaxClasses || len(once.Capacity) > maxResources {
			t.Errorf("taken: %+v", once)
		}
	})
}
