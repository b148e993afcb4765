package inventory

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
)

// A consumer such as Argo CD's generators or Kueue: it follows profiles and decisions by informers and
// knows of each site that a Placement chose how it is reached.
func TestAConsumerFollowsByInformers(t *testing.T) {
	c := newCenter(t, "shop")
	c.space(map[string]any{"tier": "edge"})
	edge := map[string]any{"tier": "edge"}
	c.target("one", edge, "True")
	c.target("two", edge, "True")
	c.placement("apps", "one")
	factory := dynamicinformer.NewDynamicSharedInformerFactory(c.client, 0)
	profiles, decisions := factory.ForResource(
		profilesResource,
	), factory.ForResource(
		decisionsResource,
	)
	_, _ = profiles.Informer(), decisions.Informer()
	ctx, cancel := context.WithCancel(t.Context())
	defer factory.Shutdown()
	defer cancel()
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(
		ctx.Done(),
		profiles.Informer().HasSynced,
		decisions.Informer().HasSynced,
	) {
		t.Fatal("the caches do not fill")
	}
	// generated is what the consumer deploys to: the servers of the clusters that apps chose.
	generated := func() (servers []string) {
		for _, item := range decisions.Informer().GetStore().List() {
			d := item.(*unstructured.Unstructured)
			list, _, _ := unstructured.NestedSlice(d.Object, "decisions")
			for i := range list {
				name := at(d, "decisions", i, "clusterProfileRef", "name").(string)
				if p, has, _ := profiles.Informer().GetStore().GetByKey("default/" + name); has {
					u := p.(*unstructured.Unstructured)
					servers = append(
						servers,
						fmt.Sprint(at(u, "status", "accessProviders", 0, "cluster", "server"),
							" ", at(u, "status", "conditions", 0, "status")),
					)
				}
			}
		}
		slices.Sort(servers)
		return servers
	}
	eventually := func(what string, want ...string) {
		t.Helper()
		for end := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
			got := generated()
			if slices.Equal(got, want) {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("%s: %v, want %v", what, got, want)
			}
		}
	}
	const view = "https://center:7443/clusters/shop/targets/"
	eventually("at first", view+"one True")
	c.placement("apps", "one", "two")
	eventually("chosen besides", view+"one True", view+"two True")
	c.target("two", edge, "False")
	eventually("away", view+"one True", view+"two Unknown")
	c.target("two", map[string]any{"tier": "core"}, "True")
	eventually("not offered any more", view+"one True")
	c.target("two", edge, "True")
	c.space(nil)
	c.target("three", nil, "True")
	c.placement("apps", "three")
	eventually("offered by the space", view+"three True")
	c.put("root", "synctargets", "three", nil)
	eventually("deleted with its SyncTarget")
	c.placement("apps", "one")
	eventually("there again", view+"one True")
	c.put("shop", "placements", "apps", nil)
	eventually("deleted with its Placement")
}
