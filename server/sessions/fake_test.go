package sessions

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/rest"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/spaceapi/spaceapitest"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/storetest"
	"skerry.dev/skerry/store/storetest/leak"
)

func TestMain(m *testing.M) {
	flag.Parse()
	flag.Set("test.parallel", "16") // those that run side by side wait, and do not compute
	leak.Main(m)
}

// fakeAPI is as much of a kube API as the server talks to: objects by their path, merge patches
// with preconditions, statuses as a whole.
type fakeAPI struct {
	asked     atomic.Int64 // how often a standingDoor has counted objects
	mu        sync.Mutex
	objects   map[string]map[string]any
	revision  int
	changes   int                                    // writes of a status that changed something
	writes    int                                    // of a status, whatever they did
	followers []*Server                              // are told of every write
	meddle    func(r *http.Request, path string) int // a status code instead of the answer, 0 for none
}

func newFakeAPI() *fakeAPI { return &fakeAPI{objects: map[string]map[string]any{}} }

// serve returns a configuration for the API over loopback.
func (f *fakeAPI) serve(t testing.TB) *rest.Config {
	server := httptest.NewServer(f)
	t.Cleanup(func() {
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		server.CloseClientConnections()
		server.Close()
	})
	return &rest.Config{Host: server.URL, QPS: -1, Transport: http.DefaultTransport}
}

// RoundTrip lets a client use the API without a socket.
func (f *fakeAPI) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	f.ServeHTTP(w, r)
	return w.Result(), nil
}

const (
	secretsPath = "/api/v1/namespaces/kube-system/secrets"
	targetsPath = "/apis/skerry.dev/v1alpha1/synctargets"

	configMapsPath = "/api/v1/namespaces/kube-system/configmaps"
)

// ServeHTTP implements http.Handler.
func (f *fakeAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	path, status := strings.CutSuffix(r.URL.Path, "/status")
	if f.meddle != nil {
		if code := f.meddle(r, path); code != 0 {
			fail(w, code)
			return
		}
	}
	var body map[string]any
	if data, _ := io.ReadAll(r.Body); len(data) > 0 && json.Unmarshal(data, &body) != nil {
		fail(w, http.StatusBadRequest)
		return
	}
	obj := f.objects[path]
	switch {
	case path != secretsPath && path != targetsPath && path != configMapsPath && obj == nil:
		fail(w, http.StatusNotFound)
	case r.Method == http.MethodPost:
		f.create(w, path, body)
	case r.Method == http.MethodGet && obj == nil:
		f.list(w, r, path)
	case r.Method == http.MethodGet:
		answer(w, http.StatusOK, obj)
	case r.Method == http.MethodPatch:
		f.patch(w, path, obj, body)
	case r.Method == http.MethodPut && status:
		f.putStatus(w, path, obj, body)
	case r.Method == http.MethodDelete:
		delete(f.objects, path)
		f.tell(path, nil)
		answer(w, http.StatusOK, map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Success"})
	default:
		fail(w, http.StatusMethodNotAllowed)
	}
}

func (f *fakeAPI) create(w http.ResponseWriter, path string, obj map[string]any) {
	path += "/" + metaOf(obj)["name"].(string)
	if f.objects[path] != nil {
		fail(w, http.StatusConflict, "AlreadyExists")
		return
	}
	delete(obj, "status")
	f.revision++
	metaOf(obj)["uid"] = fmt.Sprintf("uid-%d", f.revision)
	f.put(path, obj)
	answer(w, http.StatusCreated, obj)
}

func (f *fakeAPI) list(w http.ResponseWriter, r *http.Request, path string) {
	items := []any{}
	want := strings.TrimPrefix(r.URL.Query().Get("fieldSelector"), "type=")
	for p, obj := range f.objects {
		if strings.HasPrefix(p, path+"/") && (want == "" || obj["type"] == want) {
			items = append(items, obj)
		}
	}
	answer(
		w,
		http.StatusOK,
		map[string]any{"apiVersion": "v1", "kind": "List", "metadata": map[string]any{}, "items": items},
	)
}

func (f *fakeAPI) patch(w http.ResponseWriter, path string, old, patch map[string]any) {
	if conflicts(old, patch, "resourceVersion", "uid") {
		fail(w, http.StatusConflict)
		return
	}
	delete(patch, "status")
	if obj := merged(old, patch); encoded(obj) != encoded(old) {
		f.put(path, obj)
	}
	answer(w, http.StatusOK, f.objects[path])
}

// putStatus replaces a status, of exactly the version of the object that it is made for.
func (f *fakeAPI) putStatus(w http.ResponseWriter, path string, old, asked map[string]any) {
	meta, _ := asked["metadata"].(map[string]any)
	if meta["name"] == nil || meta["uid"] == nil || meta["resourceVersion"] == nil {
		fail(w, http.StatusBadRequest)
		return
	}
	if conflicts(old, asked, "name", "resourceVersion", "uid") {
		fail(w, http.StatusConflict)
		return
	}
	f.writes++
	obj := merged(old, map[string]any{"status": nil})
	obj["status"] = asked["status"]
	if encoded(obj) != encoded(old) {
		f.changes++
		f.put(path, obj)
	}
	answer(w, http.StatusOK, f.objects[path])
}

// conflicts reports whether what is asked for names other metadata than there are.
func conflicts(is, asked map[string]any, fields ...string) bool {
	meta, _ := asked["metadata"].(map[string]any)
	for _, field := range fields {
		if want, ok := meta[field]; ok && want != metaOf(is)[field] {
			return true
		}
	}
	return false
}

func encoded(obj map[string]any) string {
	b, _ := json.Marshal(obj)
	return string(b)
}

// merged is an object changed by a merge patch; it changes neither of its arguments.
func merged(obj, patch map[string]any) map[string]any {
	out := spaceapitest.Clone(obj)
	if out == nil {
		out = map[string]any{}
	}
	spaceapitest.Merge(out, spaceapitest.Clone(patch))
	return out
}

func (f *fakeAPI) put(path string, obj map[string]any) {
	f.revision++
	metaOf(obj)["resourceVersion"] = fmt.Sprint(f.revision)
	f.objects[path] = obj
	f.tell(path, obj)
}

func (f *fakeAPI) tell(path string, obj map[string]any) {
	if key, ok := followedKey(path); ok {
		for _, d := range f.followers {
			d.Apply(store.Write{Key: key, Revision: int64(f.revision), Object: obj})
		}
	}
}

// followedKey is the key of a path that a server follows.
func followedKey(path string) (store.Key, bool) {
	if name, ok := strings.CutPrefix(path, targetsPath+"/"); ok {
		return targetKey(name), true
	}
	name, ok := strings.CutPrefix(path, configMapsPath+"/")
	return store.Key{Space: v1alpha1.RootSpace, Resource: "configmaps", Namespace: "kube-system", Name: name}, ok
}

// follow makes a server follow the writes, from what is there now on.
func (f *fakeAPI) follow(srv *Server) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.followers = append(f.followers, srv)
	srv.Reset(int64(f.revision), storetest.Listing(func(yield func(store.Write) bool) {
		for p, obj := range f.objects {
			if key, ok := followedKey(p); ok && !yield(store.Write{Key: key, Object: obj}) {
				return
			}
		}
	}))
}

func targetKey(name string) store.Key {
	return store.Key{Space: v1alpha1.RootSpace, Group: v1alpha1.GroupVersion.Group, Resource: "synctargets", Name: name}
}

func (f *fakeAPI) get(path string) map[string]any {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.objects[path]
}

// change applies a merge patch, as somebody else would; nil deletes.
func (f *fakeAPI) change(path string, patch map[string]any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if patch == nil {
		delete(f.objects, path)
		f.tell(path, nil)
		return
	}
	obj := merged(f.objects[path], patch)
	if obj["kind"] == nil {
		obj["apiVersion"], obj["kind"] = "v1", "Any" // without them a client does not decode it
	}
	f.put(path, obj)
}

func metaOf(obj map[string]any) map[string]any { return obj["metadata"].(map[string]any) }

func answer(w http.ResponseWriter, code int, obj map[string]any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(obj)
}

func fail(w http.ResponseWriter, code int, reason ...string) {
	why := map[int]string{
		http.StatusNotFound:            "NotFound",
		http.StatusConflict:            "Conflict",
		http.StatusInternalServerError: "InternalError",
	}[code]
	if len(reason) > 0 {
		why = reason[0]
	}
	answer(
		w,
		code,
		map[string]any{
			"kind":       "Status",
			"apiVersion": "v1",
			"status":     "Failure",
			"reason":     why,
			"code":       code,
			"message":    why,
		},
	)
}
