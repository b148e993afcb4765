package server_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/k3s-io/kine/pkg/metrics"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestListAsOfNow checks that a list without a resourceVersion shows every write that was
// acknowledged before, while other resources and other spaces are written to, and what it costs: no
// statement of the database.
func TestListAsOfNow(t *testing.T) {
	c := start(t, t.TempDir(), newAuthority(t), nil)
	c.createSpace("team", "Retain")
	c.createSpace("team-b", "Retain")
	ctx, core := t.Context(), clients(t, c.admin("team")).CoreV1()
	const n = 120
	var others sync.WaitGroup
	for _, space := range []string{"team", "team-b"} {
		others.Go(func() {
			secrets := clients(t, c.admin(space)).CoreV1().Secrets("default")
			for i := range n {
				_, err := secrets.Create(
					ctx,
					&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("s-", i)}},
					metav1.CreateOptions{},
				)
				check(t, err)
			}
		})
	}
	label := metav1.ListOptions{LabelSelector: "n"}
	for i := range n {
		name := fmt.Sprintf("c-%03d", i)
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"n": ""}}}
		_, err := core.ConfigMaps("default").Create(ctx, cm, metav1.CreateOptions{})
		must(t, err)
		list, err := core.ConfigMaps("default").List(ctx, label)
		must(t, err)
		if len(list.Items) != i+1 || list.Items[i].Name != name || list.Items[i].GetSelfLink() != "" {
			t.Fatalf("after %s was created the list has %d", name, len(list.Items))
		}
	}
	others.Wait()
	must(t, core.ConfigMaps("default").Delete(ctx, "c-000", metav1.DeleteOptions{}))
	list, err := core.ConfigMaps("").List(ctx, label)
	must(t, err)
	if len(list.Items) != n-1 {
		t.Errorf("after a deletion the list has %d", len(list.Items))
	}

	const lists = 200
	before := statements(t)
	for range lists {
		list, err := core.ConfigMaps("default").List(ctx, label)
		must(t, err)
		if len(list.Items) != n-1 {
			t.Fatalf("%d items", len(list.Items))
		}
	}
	if spent := statements(t) - before; spent > lists/4 { // the store's own loop looks for changes once a second
		t.Errorf("%d lists took %v statements of the database", lists, spent)
	} else {
		t.Logf("%d lists as of now: %v statements of the database, its own loop included", lists, spent)
	}
	pages(t, c)
}

// pages reads a list page by page while it changes: all pages are as of the first.
func pages(t *testing.T, c *center) {
	ctx, api := t.Context(), clients(t, c.admin("team")).CoreV1().ConfigMaps("default")
	o, seen := metav1.ListOptions{LabelSelector: "n", Limit: 25}, 0
	for page := 0; ; page++ {
		list, err := api.List(ctx, o)
		must(t, err)
		seen += len(list.Items)
		if len(list.Items) > 25 {
			t.Errorf("page %d has %d", page, len(list.Items))
		}
		if page == 0 {
			must(t, api.Delete(ctx, "c-119", metav1.DeleteOptions{}))
			must(t, api.Delete(ctx, "c-001", metav1.DeleteOptions{}))
		}
		if o.Continue = list.Continue; o.Continue == "" {
			break
		}
	}
	if seen != 119 {
		t.Errorf("the pages have %d", seen)
	}
}

// statements is how many the database has carried out.
func statements(t *testing.T) float64 {
	t.Helper()
	found := make(chan prometheus.Metric, 512)
	metrics.SQLTotal.Collect(found)
	close(found)
	sum := 0.0
	for m := range found {
		var d dto.Metric
		must(t, m.Write(&d))
		sum += d.GetCounter().GetValue()
	}
	return sum
}
