package apiserver

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
)

// knownSpaces are spaces that are known, or are not known yet.
type knownSpaces struct {
	names  []string
	loaded bool
}

func (k knownSpaces) Has(name string) bool { return slices.Contains(k.names, name) }
func (k knownSpaces) Names() []string      { return k.names }
func (k knownSpaces) Loaded() bool         { return k.loaded }

// A center that starts tells its clients to try again, and never that a kind, a space or a namespace
// is not there. Whether it is well, and what it is, it says from the start.
func TestStartingCenterIsAskedAgain(t *testing.T) {
	for _, tc := range []struct {
		path   string
		loaded bool
		want   int
	}{
		{"/apis/skerry.dev/v1alpha1/spaces", false, http.StatusServiceUnavailable},
		{"/api/v1/namespaces/kube-system/secrets", false, http.StatusServiceUnavailable},
		{"/apis", false, http.StatusServiceUnavailable},
		{"/readyz/no", false, http.StatusOK},
		{"/readyzx", false, http.StatusServiceUnavailable},
		{"/version", false, http.StatusOK},
		{"/clusters/shop/api", false, http.StatusServiceUnavailable},
		{"/clusters/shop/version", false, http.StatusServiceUnavailable},
		{"/apis/skerry.dev/v1alpha1/spaces", true, http.StatusOK},
		{"/clusters/shop/api", true, http.StatusOK},
	} {
		f := &front{spaces: knownSpaces{[]string{"shop"}, tc.loaded},
			api: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })}
		w := httptest.NewRecorder()
		f.outer().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "https://center"+tc.path, nil))
		if w.Code != tc.want {
			t.Errorf("%s, loaded %v: %d, want %d", tc.path, tc.loaded, w.Code, tc.want)
		}
		if tc.want == http.StatusServiceUnavailable && w.Header().Get("Retry-After") == "" {
			t.Errorf("%s: clients are not told to try again", tc.path)
		}
	}
}
