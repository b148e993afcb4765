package view

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"skerry.dev/skerry/agent/inventory"
	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/agent/targettest"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/storetest/leak"
	"skerry.dev/skerry/tunnel/exchange"
)

func TestMain(m *testing.M) { leak.Main(m) }

// cluster is a workload cluster in which spaces shop and team have namespaces. It notes what it is
// asked for beside Namespaces by their name.
type cluster struct {
	api     *targettest.Server
	records map[store.Key]inventory.Record
	prefix  string // of the names of shop's namespaces
	used    bool   // it has metrics of Pods one and strange in each namespace
	foreign string // the namespace of these metrics, where it is another

	mu    sync.Mutex
	asked []string
}

func (c *cluster) Get(k store.Key) (inventory.Record, bool) { r, ok := c.records[k]; return r, ok }

func (c *cluster) Namespaces(space string) (out []string) {
	for k, r := range c.records {
		if k.Space == space && r.UID != "" {
			out = append(out, k.Name)
		}
	}
	slices.Sort(out)
	return out
}

// live are the Namespaces of the cluster, beside its own.
var live = map[string]struct {
	uid, space string
	existed    bool // it was there before the space took it
	half       bool // it names its space without the space's UID
}{
	"web":    {uid: "u-web", space: "shop"},
	"db":     {uid: "u-db", space: "shop"},
	"lent":   {uid: "u-lent", space: "shop", existed: true},
	"anew":   {uid: "u-anew-2", space: "shop"},
	"passed": {uid: "u-passed", space: "team"},
	"team":   {uid: "u-team", space: "team"},
	"bare":   {uid: "u-bare"},
	"half":   {uid: "u-half", space: "shop", half: true},
}

// Placed implements Pods: Pods one and two of shop are placed, in whatever namespace.
func (*cluster) Placed(k store.Key, uid string) bool {
	return k.Space == "shop" && uid == "u-"+k.Name && (k.Name == "one" || k.Name == "two")
}

func newCluster(t *testing.T, prefix string) *cluster {
	c := &cluster{prefix: prefix, records: map[store.Key]inventory.Record{}}
	record := func(space, name, uid string) {
		c.records[inventory.NamespaceKey(space, name)] = inventory.Record{UID: uid, Prefix: prefix}
	}
	for _, name := range []string{"web", "db", "lent", "anew", "passed", "bare", "half"} {
		record("shop", name, "u-"+name)
	}
	record("shop", "coming", "") // not made yet
	record("shop", "gone", "u-gone")
	record("team", "team", "u-team")
	c.api = targettest.New(t)
	for name, is := range live {
		marks := map[string]any{}
		if is.space != "" {
			marks[target.AnnotationOrigin] = is.space + "/p"
			marks[target.AnnotationSpaceUID] = "s-" + is.space
		}
		if is.half {
			delete(marks, target.AnnotationSpaceUID)
		}
		if is.existed {
			marks[target.AnnotationExisted] = "true"
		}
		c.api.Put("v1", "Namespace", "", prefix+name,
			map[string]any{"metadata": map[string]any{"uid": is.uid, "annotations": marks}})
	}
	c.api.Handle(c.answer)
	return c
}

// answer answers all but requests for one Namespace, in ways that a real API server seldom has.
func (c *cluster) answer(w http.ResponseWriter, r *http.Request) bool {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if len(parts) == 4 && parts[2] == "namespaces" && r.Method == http.MethodGet {
		return false
	}
	w.Header().Set("Content-Type", "application/json")
	say := func(v any) { _ = json.NewEncoder(w).Encode(v) }
	c.mu.Lock()
	c.asked = append(c.asked, r.Method+" "+r.URL.RequestURI())
	c.mu.Unlock()
	switch last := parts[len(parts)-1]; {
	case strings.HasPrefix(r.URL.Path, "/apis/metrics.k8s.io/") && c.used && last == "pods":
		say(map[string]any{"kind": "PodMetricsList", "items": used(cmp.Or(c.foreign, parts[4]), "one", "strange")})
	case strings.HasPrefix(r.URL.Path, "/apis/metrics.k8s.io/") && c.used:
		say(used(cmp.Or(c.foreign, parts[4]), last)[0])
	case strings.HasPrefix(r.URL.Path, "/apis/metrics.k8s.io/"):
		w.WriteHeader(404)
		io.WriteString(w, `{"kind":"Status","reason":"NotFound","message":"could not find the requested resource"}`)
	case len(parts) > 4 && parts[3] == c.prefix+"lent":
		c.answerLent(w, r, parts[3], last)
	case last == "widgets" || last == "nodes": // not in namespaces
		w.WriteHeader(404)
		io.WriteString(
			w,
			`{"kind":"Status","reason":"NotFound","message":"could not find the requested resource"}`,
		)
	case r.URL.Query().Get("watch") == "true":
		say(map[string]any{"type": "ADDED", "object": object("one", parts[3])})
	case last == "pods" && r.URL.Query().Get("continue") == "" && parts[len(parts)-2] == c.prefix+"web":
		say(
			map[string]any{
				"kind":     "PodList",
				"metadata": map[string]any{"continue": "next", "resourceVersion": "7"},
				"items":    []any{object("one", parts[3])},
			},
		)
	case last == "pods":
		say(
			map[string]any{
				"kind":     "PodList",
				"metadata": map[string]any{"resourceVersion": "7"},
				"items":    []any{object("two", parts[3])},
			},
		)
	case last == "leaks": // an API server that answers with what it was not asked for
		say(map[string]any{"kind": "LeakList", "items": []any{object("one", "team")}})
	case last == "pages":
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, "<script>")
	case len(parts) == 2: // as Kubernetes calls it
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		io.WriteString(w, map[string]string{"v3": `{"paths":{}}`, "v2": "words"}[parts[1]])
	case len(parts) < 5:
		say(
			map[string]any{
				"kind":   "APIGroupList",
				"path":   r.URL.Path,
				"accept": r.Header.Get("Accept"),
			},
		)
	default:
		say(object(last, parts[3]))
	}
	return true
}

// answerLent answers what is asked in a namespace that was there before: of Pods one and strange.
func (c *cluster) answerLent(w http.ResponseWriter, r *http.Request, namespace, last string) {
	say := func(v any) { _ = json.NewEncoder(w).Encode(v) }
	one, strange := lent("one", namespace), lent("strange", namespace)
	switch {
	case r.URL.Query().Get("watch") == "true":
		for _, event := range []string{"ADDED one", "ADDED strange", "DELETED strange", "DELETED one"} {
			kind, name, _ := strings.Cut(event, " ")
			say(map[string]any{"type": kind, "object": lent(name, namespace)})
		}
	case last == "pods" && strings.Contains(r.Header.Get("Accept"), "as=Table"):
		say(map[string]any{"kind": "Table", "rows": []any{map[string]any{"object": one}, map[string]any{"object": strange}}})
	case last == "pods":
		say(map[string]any{"kind": "PodList", "items": []any{one, strange},
			"metadata": map[string]any{"remainingItemCount": 7}})
	case last == "nobody":
		w.WriteHeader(http.StatusNotFound)
		io.WriteString(w, `{"kind":"Status","reason":"NotFound","message":"pods \"nobody\" not found"}`)
	default:
		say(lent(last, namespace))
	}
}

// lent is an object in a namespace that was there before.
func lent(name, namespace string) map[string]any {
	return map[string]any{"kind": "Pod",
		"metadata": map[string]any{"name": name, "namespace": namespace, "uid": "u-" + name}}
}

func object(name, namespace string) map[string]any {
	return map[string]any{
		"kind": "Pod",
		"metadata": map[string]any{
			"name":       name,
			"namespace":  namespace,
			"generation": json.Number("12345678901234567"),
		},
	}
}

func (c *cluster) site(t *testing.T) *Site {
	clients := target.NewClients(target.Cluster(c.api.Config()))
	t.Cleanup(clients.CloseIdle)
	return &Site{Client: clients.For, Records: c, Pods: c}
}

func view(space, namespace string, options ...string) *exchange.Request {
	r := &exchange.Request{
		Space:     space,
		SpaceUID:  "s-" + space,
		Namespace: namespace,
		Verb:      exchange.View,
		Query:     url.Values{},
	}
	for i := 0; i < len(options); i += 2 {
		r.Query.Add(options[i], options[i+1])
	}
	return r
}

func pods(space, namespace string, options ...string) *exchange.Request {
	return view(
		space,
		namespace,
		append([]string{"version", "v1", "resource", "pods"}, options...)...)
}

// ask returns an answer's code and body. A request that the exchange refuses is refused as by it.
func ask(t *testing.T, b interface {
	Answer(ctx context.Context, r *exchange.Request) (*http.Response, error)
}, r *exchange.Request) (int, string) {
	t.Helper()
	if err := r.Check(); err != nil {
		return http.StatusBadRequest, err.Error()
	}
	resp, err := b.Answer(t.Context(), r)
	if err != nil {
		f := exchange.FaultOf(err)
		return f.Code, f.Message
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// TestNothingElse: whatever is asked beside objects in the space's own namespaces, the API server is
// never asked for it.
func TestNothingElse(t *testing.T) {
	c := newCluster(t, "")
	s := c.site(t)
	of := func(group, version, resource, namespace string, more ...string) *exchange.Request {
		options := []string{"version", version, "resource", resource}
		if group != "" {
			options = append(options, "group", group)
		}
		return view("shop", namespace, append(options, more...)...)
	}
	for name, r := range map[string]*exchange.Request{
		"another space's namespace":            pods("shop", "team"),
		"another space's namespace, one Pod":   pods("shop", "team", "name", "one"),
		"another space's namespace, watched":   pods("shop", "team", "watch", "true"),
		"own namespace of another space":       pods("team", "web"),
		"namespace of the cluster":             pods("shop", "kube-system"),
		"default namespace":                    pods("shop", "default"),
		"namespace that nobody has":            pods("shop", "nowhere"),
		"namespace that is not made yet":       pods("shop", "coming"),
		"namespace that is gone":               pods("shop", "gone"),
		"namespace that was made anew":         pods("shop", "anew"),
		"namespace that another space took":    pods("shop", "passed"),
		"namespace that lost its marks":        pods("shop", "bare"),
		"namespace that lost one mark":         pods("shop", "half"),
		"Pod of the site, in one before":       pods("shop", "lent", "name", "strange"),
		"Secrets, in one before":               of("", "v1", "secrets", "lent"),
		"the Namespace of one before":          of("", "v1", "namespaces", "", "name", "lent"),
		"namespace that climbs":                pods("shop", ".."),
		"namespace with a slash":               pods("shop", "web/../team"),
		"namespace with a slash, encoded":      pods("shop", "web%2f..%2fteam"),
		"namespace with a question":            pods("shop", "web?x"),
		"all namespaces as a name":             pods("shop", "*"),
		"space without anything here":          pods("nobody", "web"),
		"space of all":                         pods("*", "web"),
		"no space":                             pods("", "web"),
		"Secrets":                              of("", "v1", "secrets", "web"),
		"one Secret":                           of("", "v1", "secrets", "web", "name", "key"),
		"Secrets, watched":                     of("", "v1", "secrets", "web", "watch", "true"),
		"Secrets of all namespaces":            of("", "v1", "secrets", ""),
		"Secrets of another API":               of("mirror.example.com", "v1", "secrets", "web"),
		"Secrets in capitals":                  of("", "v1", "SECRETS", "web"),
		"Secrets by a path":                    of("", "v1", "pods/../secrets", "web"),
		"Secrets by a name":                    pods("shop", "web", "name", "../secrets"),
		"log of a Pod":                         pods("shop", "web", "name", "one/log"),
		"exec, encoded":                        pods("shop", "web", "name", "one%2fexec"),
		"proxy by a resource":                  of("", "v1", "pods/one/proxy", "web"),
		"name that climbs":                     pods("shop", "web", "name", ".."),
		"name that stays":                      pods("shop", "web", "name", "."),
		"name with a question":                 pods("shop", "web", "name", "one?watch=true"),
		"name with a fragment":                 pods("shop", "web", "name", "one#"),
		"empty name":                           pods("shop", "web", "name", ""),
		"status of the namespace":              of("", "v1", "status", "web"),
		"finalizers of the namespace":          of("", "v1", "finalize", "web"),
		"nodes":                                of("", "v1", "nodes", ""),
		"one node":                             of("", "v1", "nodes", "", "name", "n1"),
		"nodes in a namespace":                 of("", "v1", "nodes", "web"),
		"kind of the cluster":                  of("example.com", "v1", "widgets", ""),
		"cluster role":                         of("rbac.authorization.k8s.io", "v1", "clusterroles", "", "name", "admin"),
		"volume":                               of("", "v1", "persistentvolumes", "", "name", "v"),
		"Pod without a namespace":              pods("shop", "", "name", "one"),
		"watch of all namespaces":              pods("shop", "", "watch", "true"),
		"watch of all namespaces, as a number": pods("shop", "", "watch", "1"),
		"watch of Namespaces":                  of("", "v1", "namespaces", "", "watch", "true"),
		"another space's Namespace":            of("", "v1", "namespaces", "", "name", "team"),
		"the cluster's Namespace":              of("", "v1", "namespaces", "", "name", "kube-system"),
		"Namespaces in a namespace":            of("", "v1", "namespaces", "web"),
		"namespace among others":               pods("shop", "web", "among", "team"),
		"rest of a list of another":            pods("shop", "", "continue", "token"),
		"group that climbs":                    of("../api", "v1", "pods", "web"),
		"version that climbs":                  of("", "v1/../..", "pods", "web"),
		"version watch":                        of("", "watch", "pods", "web"),
		"no version":                           view("shop", "web", "resource", "pods"),
		"option of a write":                    pods("shop", "web", "fieldManager", "x"),
		"dry run":                              pods("shop", "web", "dryRun", "All"),
		"deletion in an option":                pods("shop", "web", "propagationPolicy", "Orphan"),
		"two names":                            pods("shop", "web", "name", "one", "name", "two"),
		"watch of one":                         pods("shop", "web", "name", "one", "watch", "true"),
		"selector with a line":                 pods("shop", "web", "labelSelector", "a\r\nX: y"),
		"document and resource":                pods("shop", "web", "document", "api"),
		"metrics of the API server":            view("shop", "", "document", "metrics"),
		"logs of the machine":                  view("shop", "", "document", "logs"),
		"document that climbs":                 view("shop", "", "document", "openapi/../metrics"),
		"document of another space":            view("nobody", "", "document", "api"),
		"words in place of a document":         view("shop", "", "document", "openapi/v2"),
		"HTML":                                 of("example.com", "v1", "pages", "web"),
		"what was not asked for":               of("example.com", "v1", "leaks", ""),
	} {
		t.Run(name, func(t *testing.T) {
			c.asked = nil
			code, body := ask(t, s, r)
			if code < 400 {
				t.Errorf("%d: %s", code, body)
			}
			if strings.Contains(body, "u-team") || strings.Contains(body, "script") {
				t.Errorf("it says %s", body)
			}
			for _, asked := range c.asked {
				if asked == "GET /openapi/v2" {
					continue
				}
				u, err := url.Parse(strings.TrimPrefix(asked, "GET "))
				parts := strings.Split(u.Path, "/namespaces/")
				if err != nil || len(parts) != 2 ||
					!slices.Contains([]string{"web", "db", "lent"}, strings.Split(parts[1], "/")[0]) ||
					strings.Contains(u.Path, "secrets") {
					t.Errorf("the API server is asked: %s", asked)
				}
			}
		})
	}
}
