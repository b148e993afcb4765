package admin

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

const twoProfiles = `{"apiVersion":"multicluster.x-k8s.io/v1alpha1","kind":"ClusterProfileList","items":[
{"apiVersion":"multicluster.x-k8s.io/v1alpha1","kind":"ClusterProfile","metadata":{"name":"paris","namespace":"default",
"labels":{"region":"west","x-k8s.io/cluster-manager":"skerry.dev"}}},
{"apiVersion":"multicluster.x-k8s.io/v1alpha1","kind":"ClusterProfile","metadata":{"name":"relay","namespace":"default"},
"status":{"properties":[{"name":"skerry.dev/relay","value":"true"}]}}]}`

// ofUser is a center that root refuses, with a space that answers with a status about ClusterProfiles.
func ofUser(t *testing.T, code int, text string) (*center, *rendering) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		body, status := failure(metav1.StatusReasonUnauthorized, "Unauthorized"), http.StatusUnauthorized
		if strings.HasPrefix(r.URL.Path, "/clusters/shop/") {
			body, status = text, code
		}
		w.WriteHeader(status)
		if _, err := w.Write([]byte(body)); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(s.Close)
	root, err := dynamic.NewForConfig(&rest.Config{Host: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	space, err := dynamic.NewForConfig(&rest.Config{Host: s.URL + "/clusters/shop"})
	if err != nil {
		t.Fatal(err)
	}
	return &center{root: root}, &rendering{client: space, asksProperties: true}
}

func TestAUserOfASpaceRendersByWhatHeMayRead(t *testing.T) {
	paris := `{"apiVersion":"multicluster.x-k8s.io/v1alpha1","kind":"ClusterProfile","metadata":{"name":"paris",` +
		`"namespace":"default","labels":{"region":"west"}}}`
	forbidden := failure(metav1.StatusReasonForbidden, "no right")
	missing := failure(metav1.StatusReasonNotFound, "not found")
	own := map[string]string{"region": "east"}
	for _, c := range []struct {
		name, text, wants, says string
		code                    int
		labels                  map[string]string
	}{
		{name: "its labels", code: 200, text: paris, says: "Note: a Customizer of the space uses properties"},
		{name: "no such site", code: 404, text: missing, wants: "it may use with: kubectl get clusterprofiles -n default"},
		{name: "one that he describes", code: 404, text: missing, labels: own},
		{name: "no right", code: 403, text: forbidden, wants: "skerry space kubeconfig shop --user NAME --role view"},
		{name: "no right to one that he describes", code: 403, text: forbidden, labels: own},
	} {
		center, r := ofUser(t, c.code, c.text)
		var says bytes.Buffer
		v, err := r.valuesOf(t.Context(), center, RenderOptions{Space: "shop", Target: "paris", Labels: c.labels, Err: &says})
		if c.wants == "" && (err != nil || v.Name != "paris" || c.code == 200 && v.Labels["region"] != "west") {
			t.Errorf("%s: %+v %v", c.name, v, err)
		}
		if c.wants != "" && (err == nil || !strings.Contains(err.Error(), c.wants)) {
			t.Errorf("%s: %v", c.name, err)
		}
		if !strings.Contains(says.String(), c.says) || (c.says == "") != (says.String() == "") {
			t.Errorf("%s says %q", c.name, says.String())
		}
	}
	center, r := ofUser(t, 200, twoProfiles)
	sites, err := r.sites(t.Context(), center, RenderOptions{Space: "shop", Err: &bytes.Buffer{}})
	if err != nil || len(sites) != 2 || len(sites[0].Labels) != 1 || sites[0].relay || !sites[1].relay {
		t.Errorf("all sites: %+v %v", sites, err)
	}
	center, r = ofUser(t, 403, forbidden)
	if _, err := r.sites(t.Context(), center, RenderOptions{Space: "shop"}); err == nil ||
		!strings.Contains(err.Error(), "role view") {
		t.Errorf("all sites, without the right: %v", err)
	}
	if err := r.readCustomizers(t.Context(), "shop"); err == nil || !strings.Contains(err.Error(), "role view") {
		t.Errorf("Customizers, without the right: %v", err)
	}
}
