package summary

import (
	"fmt"
	"testing"
	"testing/synctest"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/spaceapi/spaceapitest"
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
	o := spaceapitest.Clone(c.objects[k])
	o["metadata"].(map[string]any)["annotations"] = notes
	c.commit(k, o)
}

func TestTheRevisionOfADeploymentIsShownWithItsStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t)
		c.place(web, "apps/v1", "Deployment", "a")
		c.annotate(web, map[string]any{"skerry.dev/targets": "a"})
		says := func(revision int64, replicas int) {
			c.says(
				"a",
				web,
				&store.Report{
					OriginUID: "uid-web",
					Filled:    &store.Filled{Revision: revision, ClusterIP: "10.0.0.1"},
					Status:    status(`{"replicas":%d}`, replicas),
				},
			)
		}
		shows := func(revision, replicas int) {
			t.Helper()
			c.eventually(fmt.Sprint("revision ", revision), func() bool {
				return c.notes(web)[store.DeploymentRevision] == fmt.Sprint(revision) &&
					num(c.status(web)["replicas"]) == float64(replicas)
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
		c.annotate(
			web,
			map[string]any{"skerry.dev/targets": "a", store.DeploymentRevision: "1"},
		) // kubectl rollout undo writes the annotations of before
		shows(3, 3)
		if c.notes(web)["skerry.dev/targets"] != "a" {
			t.Error("another annotation was lost")
		}
		says(3, 3)
		c.stop()
		if n := c.count(); n != 4 {
			t.Errorf("%d writes", n)
		}
	})
}

func TestTheRevisionOfADeploymentWithoutAnnotations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t)
		c.place(web, "apps/v1", "Deployment", "a", "b")
		c.says(
			"b",
			web,
			&store.Report{OriginUID: "uid-web", Filled: &store.Filled{Revision: 9}, Status: status(`{"replicas":3}`)},
		)
		c.eventually("the status", func() bool { return num(c.status(web)["replicas"]) == 3 })
		if c.notes(web)[store.DeploymentRevision] != nil {
			t.Error("the second target speaks for all")
		}
		c.says(
			"a",
			web,
			&store.Report{OriginUID: "uid-web", Filled: &store.Filled{Revision: 2}, Status: status(`{"replicas":3}`)},
		)
		c.eventually("the revision and the status", func() bool {
			return c.notes(web)[store.DeploymentRevision] == "2" && num(c.status(web)["replicas"]) == 3
		})
	})
}

func TestAServiceShowsTheAddressesOfItsTarget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t)
		k := key("", "services", "web")
		c.mu.Lock()
		c.commit(
			k,
			map[string]any{
				"apiVersion": "v1",
				"kind":       "Service",
				"metadata":   map[string]any{"name": "web", "uid": "uid-web"},
				"spec": map[string]any{
					"type": "NodePort",
					"ports": []any{
						map[string]any{"port": 80, "protocol": "TCP"},
						map[string]any{"port": 80, "protocol": "UDP"},
						map[string]any{"port": 81, "protocol": "TCP", "nodePort": 30081},
					},
				},
			},
		)
		c.mu.Unlock()
		c.place(k, "v1", "Service", "a")
		says := func(target, ip string, tcp int64) {
			c.says(
				target,
				k,
				&store.Report{
					OriginUID: "uid-web",
					Status:    status(`{"loadBalancer":{}}`),
					Filled: &store.Filled{Revision: 3, ClusterIP: ip,
						NodePorts: []store.NodePort{
							{Port: 80, Protocol: "TCP", NodePort: tcp},
							{Port: 81, Protocol: "TCP", NodePort: 31111},
						}},
				},
			)
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
		if got := c.notes(k)[v1alpha1.AnnotationAllocated]; got != `{"clusterIP":"10.0.0.1","nodePorts":[30500]}` ||
			c.notes(k)[store.DeploymentRevision] != nil {
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
		if c.notes(k)[v1alpha1.AnnotationAllocated] != `{"clusterIP":"10.9.9.9","nodePorts":[30600]}` {
			t.Errorf("annotations %v", c.notes(k))
		}
	})
}

// What a user has chosen stays, and what is empty the target fills in.
func TestWishesStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		port := func(node int) map[string]any { return map[string]any{"port": 80, "protocol": "TCP", "nodePort": node} }
		for _, x := range []struct {
			what      string
			spec      map[string]any
			ip        string
			node      int64
			allocated any
		}{
			{
				"all is wished",
				map[string]any{"clusterIP": "10.0.0.9", "healthCheckNodePort": 30999, "ports": []any{port(30080)}},
				"10.0.0.9",
				30080,
				nil,
			},
			{
				"nothing is",
				map[string]any{"ports": []any{port(0)}},
				"10.0.0.1",
				30500,
				`{"clusterIP":"10.0.0.1","nodePorts":[30500],"healthCheckNodePort":30700}`,
			},
			{"no address is", map[string]any{"clusterIP": "None", "healthCheckNodePort": 30999}, "None", 0, nil},
		} {
			meta := map[string]any{"uid": "u", "resourceVersion": "7"}
			c := newCenter(t)
			k := key("", "services", "web")
			c.objects[k] = map[string]any{"apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": x.spec}
			f := &store.Filled{
				ClusterIP:           "10.0.0.1",
				NodePorts:           []store.NodePort{{Port: 80, Protocol: "TCP", NodePort: 30500}},
				HealthCheckNodePort: 30700,
			}
			if patch := allocate(spaceapitest.Clone(c.objects[k]), "u", f); patch != nil {
				if _, err := c.Patch(t.Context(), k, "v1", "", patch); err != nil {
					t.Errorf("%s: %s: %v", x.what, patch, err)
				}
			}
			is := c.objects[k]["spec"].(map[string]any)
			var node int64
			if ports, _ := is["ports"].([]any); len(ports) > 0 {
				node = int64(num(ports[0].(map[string]any)["nodePort"]))
			}
			if is["clusterIP"] != x.ip || node != x.node || c.notes(k)[v1alpha1.AnnotationAllocated] != x.allocated {
				t.Errorf("%s: %v, annotations %v", x.what, is, c.notes(k))
			}
			if again := allocate(spaceapitest.Clone(c.objects[k]), "u", f); again != nil {
				t.Errorf("%s: written again: %s", x.what, again)
			}
		}
	})
}

func TestAClaimShowsItsVolume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t)
		claim := func(name string, spec map[string]any) store.Key {
			k := key("", "persistentvolumeclaims", name)
			c.mu.Lock()
			c.commit(
				k,
				map[string]any{
					"apiVersion": "v1",
					"kind":       "PersistentVolumeClaim",
					"metadata":   map[string]any{"name": name, "uid": "uid-" + name},
					"spec":       spec,
				},
			)
			c.mu.Unlock()
			c.place(k, "v1", "PersistentVolumeClaim", "a")
			return k
		}
		shows := func(k store.Key, volume, mark any) {
			t.Helper()
			c.eventually(fmt.Sprint(volume), func() bool {
				c.mu.Lock()
				spec := c.objects[k]["spec"].(map[string]any)
				c.mu.Unlock()
				return spec["volumeName"] == volume && c.notes(k)[v1alpha1.AnnotationAllocated] == mark
			})
		}
		says := func(target string, k store.Key, phase, volume string) {
			r := &store.Report{OriginUID: "uid-" + k.Name, Status: status(`{"phase":%q}`, phase)}
			if volume != "" {
				r.Filled = &store.Filled{VolumeName: volume}
			}
			c.says(target, k, r)
		}
		free, own := claim("free", map[string]any{}), claim("own", map[string]any{"volumeName": "disk-7"})
		says("a", free, "Bound", "pvc-1")
		shows(free, "pvc-1", `{"volumeName":"pvc-1"}`)
		says("a", own, "Bound", "disk-7")
		c.eventually("the user's own", func() bool { return c.status(own)["phase"] == "Bound" })
		shows(own, "disk-7", nil)
		// On another target it has none yet, and then another one.
		c.place(free, "v1", "PersistentVolumeClaim", "b")
		says("b", free, "Pending", "")
		shows(free, nil, nil)
		says("b", free, "Bound", "pvc-2")
		shows(free, "pvc-2", `{"volumeName":"pvc-2"}`)
		writes := c.count()
		says("b", free, "Bound", "pvc-2")
		says("a", own, "Bound", "disk-7")
		c.stop()
		if n := c.count() - writes; n != 0 {
			t.Errorf("%d writes of what is shown", n)
		}
	})
}

// What a site fills in of families and classes is its choice, follows the object to another site,
// and leaves wishes alone.
func TestFamiliesAndClassesAreTheTargets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t)
		free, wish := key("", "services", "free"), key("", "services", "wish")
		claim := key("", "persistentvolumeclaims", "data")
		c.mu.Lock()
		c.commit(
			free,
			map[string]any{
				"apiVersion": "v1",
				"kind":       "Service",
				"metadata":   map[string]any{"name": "free", "uid": "uid-free"},
				"spec":       map[string]any{},
			},
		)
		c.commit(
			wish,
			map[string]any{
				"apiVersion": "v1",
				"kind":       "Service",
				"metadata":   map[string]any{"name": "wish", "uid": "uid-wish"},
				"spec":       map[string]any{"ipFamilyPolicy": "RequireDualStack", "ipFamilies": []any{"IPv6", "IPv4"}},
			},
		)
		c.commit(
			claim,
			map[string]any{
				"apiVersion": "v1",
				"kind":       "PersistentVolumeClaim",
				"metadata":   map[string]any{"name": "data", "uid": "uid-data"},
				"spec":       map[string]any{},
			},
		)
		c.mu.Unlock()
		spec := func(k store.Key) string {
			c.mu.Lock()
			defer c.mu.Unlock()
			return string(encode(c.objects[k]["spec"]))
		}
		site := func(target, family, class string) {
			for _, k := range []store.Key{free, wish} {
				c.place(k, "v1", "Service", target)
				c.says(
					target,
					k,
					&store.Report{
						OriginUID: "uid-" + k.Name,
						Filled:    &store.Filled{IPFamilies: []string{family}, IPFamilyPolicy: "SingleStack"},
					},
				)
			}
			c.place(claim, "v1", "PersistentVolumeClaim", target)
			c.says(target, claim, &store.Report{OriginUID: "uid-data", Filled: &store.Filled{StorageClass: class}})
			c.eventually(target, func() bool {
				return spec(free) == `{"ipFamilies":["`+family+`"],"ipFamilyPolicy":"SingleStack"}` &&
					spec(claim) == `{"storageClassName":"`+class+`"}`
			})
		}
		site("a", "IPv4", "standard")
		site("b", "IPv6", "local-path")
		c.stop()
		if spec(wish) != `{"ipFamilies":["IPv6","IPv4"],"ipFamilyPolicy":"RequireDualStack"}` ||
			c.notes(wish)[v1alpha1.AnnotationAllocated] != nil {
			t.Errorf("the wish is %s %v", spec(wish), c.notes(wish))
		}
		if c.notes(free)[v1alpha1.AnnotationAllocated] != `{"ipFamilies":["IPv6"],"ipFamilyPolicy":"SingleStack"}` ||
			c.notes(claim)[v1alpha1.AnnotationAllocated] != `{"storageClass":"local-path"}` {
			t.Errorf("marks %v %v", c.notes(free), c.notes(claim))
		}
	})
}
