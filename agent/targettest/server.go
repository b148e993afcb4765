package targettest

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/rest"

	"skerry.dev/skerry/tunnel/tunneltest"
)

// Kind is a served resource.
type Kind struct {
	Group, Version, Plural, Kind string
	Namespaced                   bool
}

// Write is one request that changed, or would have changed, something.
type Write struct {
	Method string
	// Path is the URL path.
	Path string
	// Changed is false for an apply that left the object as it was.
	Changed bool
	// Policy is the propagation policy of a deletion.
	Policy string
	// Body is what was sent. Arrived and Done are the server's revisions when the request came and
	// when it was carried out: what lies between them was written while this write was on its way.
	Body          string
	Arrived, Done int64
	// User is who the request was made for, empty for the agent itself.
	User string
}

// Server is the fake API.
type Server struct {
	http *httptest.Server
	dial func(ctx context.Context, network, address string) (net.Conn, error) // nil for a listener on loopback

	mu       sync.Mutex
	kinds    []Kind
	objects  map[ref]map[string]any
	owned    map[ref]ownership
	history  []event
	revision int64
	floor    int64 // history up to here is forgotten
	nextUID  int
	writes   []Write
	reads    int
	refuse   func(method, plural, name string) *Refusal
	before   func(method, plural, name string)
	mutate   func(plural string, object map[string]any)
	handle   func(w http.ResponseWriter, r *http.Request) bool
	down     bool
	instead  *Refusal
	changed  chan struct{}
	paused   chan struct{} // nil: not paused
	waited   map[string]int
	listed   map[string]int
	pass     map[string]chan struct{}
	closing  chan struct{}
}

// ref names a stored object.
type ref struct{ group, plural, namespace, name string }

// Refusal is an error answer.
type Refusal struct {
	Code            int
	Reason, Message string
}

// New starts a server with the usual built-in kinds and the namespaces default and kube-system, on
// loopback. It ends with the test.
func New(t testing.TB) *Server { return start(t, nil) }

// NewInMemory is New whose connections stay in memory, so that a test in a bubble of testing/synctest
// can wait for them.
func NewInMemory(t testing.TB) *Server { return start(t, tunneltest.NewMemory()) }

func start(t testing.TB, memory *tunneltest.Memory) *Server {
	s := &Server{
		objects: map[ref]map[string]any{}, owned: map[ref]ownership{}, waited: map[string]int{},
		listed: map[string]int{}, pass: map[string]chan struct{}{},
		changed: make(chan struct{}), closing: make(chan struct{}), revision: 100,
		kinds: []Kind{
			{"", "v1", "namespaces", "Namespace", false},
			{"", "v1", "configmaps", "ConfigMap", true},
			{"", "v1", "secrets", "Secret", true},
			{"", "v1", "services", "Service", true},
			{"", "v1", "pods", "Pod", true},
			{"", "v1", "events", "Event", true},
			{"", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", true},
			{"", "v1", "serviceaccounts", "ServiceAccount", true},
			{"apps", "v1", "deployments", "Deployment", true},
			{"apps", "v1", "replicasets", "ReplicaSet", true},
			{"apps", "v1", "controllerrevisions", "ControllerRevision", true},
			{"apps", "v1", "statefulsets", "StatefulSet", true},
			{"batch", "v1", "jobs", "Job", true},
			{"autoscaling", "v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler", true},
			{"rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", false},
			{"rbac.authorization.k8s.io", "v1", "clusterrolebindings", "ClusterRoleBinding", false},
			{"rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding", true},
			{"apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", false},
			{"", "v1", "nodes", "Node", false},
			{"rbac.authorization.k8s.io", "v1", "roles", "Role", true},
			{"discovery.k8s.io", "v1", "endpointslices", "EndpointSlice", true},
			{"resource.k8s.io", "v1", "resourceclaims", "ResourceClaim", true},
			{"storage.k8s.io", "v1", "storageclasses", "StorageClass", false},
			{"networking.k8s.io", "v1", "ingresses", "Ingress", true},
			{"networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy", true},
			{"networking.k8s.io", "v1", "ingressclasses", "IngressClass", false},
			{"storage.k8s.io", "v1", "csidrivers", "CSIDriver", false},
			{"admissionregistration.k8s.io", "v1", "mutatingwebhookconfigurations", "MutatingWebhookConfiguration", false},
			{"admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations", "ValidatingWebhookConfiguration", false},
		},
	}
	for _, name := range []string{"default", "kube-system"} {
		s.Put("v1", "Namespace", "", name, nil)
	}
	s.http = httptest.NewUnstartedServer(s)
	if memory != nil {
		if err := s.http.Listener.Close(); err != nil {
			t.Fatal(err)
		}
		s.http.Listener, s.dial = memory, memory.DialContext
	}
	s.http.Start()
	t.Cleanup(func() {
		close(s.closing)
		s.http.CloseClientConnections()
		s.http.Close()
	})
	return s
}

// Serve has the API serve one more kind.
func (s *Server) Serve(k Kind) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kinds = append(s.kinds, k)
}

// Config is how to reach the server.
func (s *Server) Config() *rest.Config { return &rest.Config{Host: s.http.URL, Dial: s.dial} }

// Refuse sets a function that may refuse a write; nil refuses nothing.
func (s *Server) Refuse(f func(method, plural, name string) *Refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = f
}

// Before sets a function that is called at the beginning of every request that writes; it may
// change what the request will meet.
func (s *Server) Before(f func(method, plural, name string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before = f
}

// Mutate sets a function that changes what is about to be stored by an apply or a patch, as mutating
// admission does; nil changes nothing.
func (s *Server) Mutate(f func(plural string, object map[string]any)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mutate = f
}

// Handle sets a function that sees every request first, and may answer it in the API's place: what
// this API does not serve, or serves too well. It reports whether it has answered.
func (s *Server) Handle(f func(w http.ResponseWriter, r *http.Request) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handle = f
}

// Down makes the API answer nothing, and cuts open connections.
func (s *Server) Down(on bool) {
	s.mu.Lock()
	s.down = on
	s.mu.Unlock()
	if on {
		s.http.CloseClientConnections()
	}
}

// Instead makes the API answer every request with one and the same answer: a Status, or without a
// reason the message as a page. Nil ends that.
func (s *Server) Instead(r *Refusal) {
	s.mu.Lock()
	s.instead = r
	s.mu.Unlock()
	s.CutWatches()
}

// Writes returns the writes so far that came over HTTP.
func (s *Server) Writes() []Write {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Write(nil), s.writes...)
}

// Changes is how many of them changed something.
func (s *Server) Changes() int {
	n := 0
	for _, w := range s.Writes() {
		if w.Changed {
			n++
		}
	}
	return n
}

// Reads is how often an object was read by its name.
func (s *Server) Reads() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reads
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	down, instead, handle := s.down, s.instead, s.handle
	s.mu.Unlock()
	switch {
	case down:
		panic(http.ErrAbortHandler)
	case instead != nil && instead.Reason == "":
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(instead.Code)
		w.Write([]byte(instead.Message)) //nolint:errcheck // the client may be gone
		return
	case instead != nil:
		refusal(w, instead.Code, instead.Reason, instead.Message, nil)
		return
	case handle != nil && handle(w, r):
		return
	}
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case r.URL.Path == "/version":
		answer(w, http.StatusOK, map[string]any{"gitVersion": "v1.36.3"})
		return
	case len(parts) <= 3 && s.discovery(w, parts):
		return
	}
	group, rest := "", parts[1:]
	if parts[0] == "apis" && len(parts) > 2 {
		group, rest = parts[1], parts[2:]
	}
	version, rest := rest[0], rest[1:]
	namespace := ""
	if len(rest) > 2 && rest[0] == "namespaces" {
		namespace, rest = rest[1], rest[2:]
	}
	kind, ok := s.kind(group, version, rest[0])
	if !ok {
		http.Error(w, "404 page not found", http.StatusNotFound)
		return
	}
	if len(rest) == 1 {
		if r.URL.Query().Get("watch") == "true" {
			s.watch(w, r, kind, namespace)
		} else if r.Method == http.MethodGet {
			s.list(w, r, kind, namespace)
		} else if r.Method == http.MethodPost {
			s.create(w, r, kind, namespace)
		} else {
			http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		}
		return
	}
	s.single(w, r, kind, ref{group, kind.Plural, namespace, rest[1]})
}

func (s *Server) kind(group, version, plural string) (Kind, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range s.kinds {
		if k.Group == group && k.Version == version && k.Plural == plural {
			return k, true
		}
	}
	return Kind{}, false
}

// discovery answers /api, /api/v1, /apis, /apis/GROUP and /apis/GROUP/VERSION.
func (s *Server) discovery(w http.ResponseWriter, parts []string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	group, version, root := "", "v1", parts[0] == "apis"
	if root && len(parts) == 1 {
		var groups []any
		named := map[string]bool{"": true} // core is none
		for _, k := range s.kinds {
			if !named[k.Group] {
				named[k.Group] = true
				groups = append(groups, groupOf(k))
			}
		}
		answer(w, http.StatusOK, map[string]any{"kind": "APIGroupList", "groups": groups})
		return true
	}
	if len(parts) == 1 && parts[0] == "api" {
		answer(w, http.StatusOK, map[string]any{"kind": "APIVersions", "versions": []string{"v1"}})
		return true
	}
	if !root && (len(parts) != 2 || parts[0] != "api") {
		return false
	}
	if root {
		group = parts[1]
	}
	var resources []any
	for _, k := range s.kinds {
		if k.Group != group {
			continue
		}
		if root && len(parts) == 2 {
			answer(w, http.StatusOK, groupOf(k))
			return true
		}
		if root {
			version = parts[2]
		}
		if k.Version == version {
			resources = append(resources, map[string]any{
				"name": k.Plural, "namespaced": k.Namespaced, "kind": k.Kind,
				"verbs": []string{"get", "list", "watch", "patch", "delete"},
			})
		}
	}
	if len(resources) == 0 {
		http.Error(w, "404 page not found", http.StatusNotFound)
		return true
	}
	answer(
		w,
		http.StatusOK,
		map[string]any{
			"kind":         "APIResourceList",
			"groupVersion": strings.Trim(group+"/"+version, "/"),
			"resources":    resources,
		},
	)
	return true
}

func groupOf(k Kind) map[string]any {
	v := map[string]any{"groupVersion": k.Group + "/" + k.Version, "version": k.Version}
	return map[string]any{"kind": "APIGroup", "name": k.Group, "preferredVersion": v, "versions": []any{v}}
}

func answer(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	if err := json.NewEncoder(w).Encode(body); err != nil {
		panic(http.ErrAbortHandler) // the client is gone
	}
}

// refusal answers with a Status.
func refusal(w http.ResponseWriter, code int, reason, message string, details map[string]any) {
	answer(w, code, map[string]any{
		"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason,
		"message": message, "details": details,
	})
}
