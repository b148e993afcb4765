package summary

import (
	"fmt"
	"testing"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/store"
)

func (c *center) notes(k store.Key) map[string]any {
	c.mu.Lock()
	defer c.mu.Unlock()
	meta, _ := c.objects[k]["metadata"].(map[string]any)
	notes, _ := meta["annotations"].(map[string]any)
	return notes
}

// annotate changes the annotations of an object, as somebody in the space does.
func (c *center) annotate(k store.Key, notes map[string]any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o := clone(c.objects[k])
	o["metadata"].(map[string]any)["annotations"] = notes
	c.commit(k, o)
}

func TestTheRevisionOfADeploymentIsShownWithItsStatus(t *testing.T) {
	c := newCenter(t)
	c.place(web, "apps/v1", "Deployment", "a")
	c.annotate(web, map[string]any{"skerry.dev/targets": "a"})
	says := func(revision int64, replicas int) {
		c.says("a", web, &store.Report{OriginUID: "uid-web", Filled: &store.Filled{Revision: revision, ClusterIP: "10.0.0.1"}, Status: status(`{"replicas":%d}`, replicas)})
	}
	shows := func(revision, replicas int) {
		t.Helper()
		c.eventually(fmt.Sprint("revision ", revision), func() bool {
			return c.notes(web)[store.DeploymentRevision] == fmt.Sprint(revision) && num(c.status(web)["replicas"]) == float64(replicas)
		})
	}
	says(1, 1)
	shows(1, 1)
	says(2, 3)
	shows(2, 3)
	if n := c.count(); n != 2 {
		t.Errorf("%d writes for 2 statuses with their revisions", n)
	}
	says(3, 3) // a status that is as it was
	shows(3, 3)
	c.annotate(web, map[string]any{"skerry.dev/targets": "a", store.DeploymentRevision: "1"}) // kubectl rollout undo writes the annotations of before
	shows(3, 3)
	if c.notes(web)["skerry.dev/targets"] != "a" {
		t.Error("another annotation was lost")
	}
	says(3, 3)
	c.stop()
	if n := c.count(); n != 4 {
		t.Errorf("%d writes", n)
	}
}

func TestTheRevisionOfADeploymentWithoutAnnotations(t *testing.T) {
	c := newCenter(t)
	c.place(web, "apps/v1", "Deployment", "a", "b")
	c.says("b", web, &store.Report{OriginUID: "uid-web", Filled: &store.Filled{Revision: 9}, Status: status(`{"replicas":3}`)})
	c.eventually("the status", func() bool { return num(c.status(web)["replicas"]) == 3 })
	if c.notes(web)[store.DeploymentRevision] != nil {
		t.Error("the second target speaks for all")
	}
	c.says("a", web, &store.Report{OriginUID: "uid-web", Filled: &store.Filled{Revision: 2}, Status: status(`{"replicas":3}`)})
	c.eventually("the revision and the status", func() bool {
		return c.notes(web)[store.DeploymentRevision] == "2" && num(c.status(web)["replicas"]) == 6
	})
}

func TestAServiceShowsTheAddressesOfItsTarget(t *testing.T) {
	c := newCenter(t)
	k := key("", "services", "web")
	c.mu.Lock()
	c.commit(k, map[string]any{"apiVersion": "v1", "kind": "Service", "metadata": map[string]any{"name": "web", "uid": "uid-web"},
		"spec": map[string]any{"type": "NodePort", "ports": []any{map[string]any{"port": 80, "protocol": "TCP"}, map[string]any{"port": 80, "protocol": "UDP"},
			map[string]any{"port": 81, "protocol": "TCP", "nodePort": 30081}}}})
	c.mu.Unlock()
	c.place(k, "v1", "Service", "a")
	says := func(target, ip string, tcp int64) {
		c.says(target, k, &store.Report{OriginUID: "uid-web", Status: status(`{"loadBalancer":{}}`), Filled: &store.Filled{Revision: 3, ClusterIP: ip,
			NodePorts: []store.NodePort{{Port: 80, Protocol: "TCP", NodePort: tcp}, {Port: 81, Protocol: "TCP", NodePort: 31111}}}})
	}
	shows := func(ip string, ports ...float64) {
		t.Helper()
		c.eventually(ip, func() bool {
			c.mu.Lock()
			defer c.mu.Unlock()
			spec := c.objects[k]["spec"].(map[string]any)
			list := spec["ports"].([]any)
			for i, p := range list {
				if num(p.(map[string]any)["nodePort"]) != ports[i] {
					return false
				}
			}
			return spec["clusterIP"] == ip && fmt.Sprint(spec["clusterIPs"]) == "["+ip+"]"
		})
	}
	says("a", "10.0.0.1", 30500)
	shows("10.0.0.1", 30500, 0, 30081)
	if got := c.notes(k)[v1alpha1.AnnotationNodePorts]; got != "30500" || c.notes(k)[store.DeploymentRevision] != nil {
		t.Errorf("annotations %v", c.notes(k))
	}
	writes := c.count()
	says("a", "10.0.0.1", 30500)
	c.place(k, "v1", "Service", "b", "a")
	says("b", "10.9.9.9", 30600)
	shows("10.9.9.9", 30600, 0, 30081)
	says("a", "10.0.0.1", 30500)
	c.stop()
	if n := c.count() - writes; n > 2 { // the status of the first for two targets, and the addresses of the other
		t.Errorf("%d writes after the first", n)
	}
	if c.notes(k)[v1alpha1.AnnotationNodePorts] != "30600" {
		t.Errorf("annotations %v", c.notes(k))
	}
}
