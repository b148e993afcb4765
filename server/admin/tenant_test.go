package admin

import (
	"encoding/base64"
	"io"
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// unauthorized answers every request with 401.
type unauthorized struct{}

func (unauthorized) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusUnauthorized, Body: io.NopCloser(strings.NewReader("no"))}, nil
}

// Who works in a space, and asks for what only the center's admins see, is told whose the credentials
// are and where to look; what has ended in the space itself is not.
func TestCredentialsOfASpace(t *testing.T) {
	claims := `{"iss":"https://center:7443/clusters/shop","iat":1,"exp":2,"kubernetes.io":` +
		`{"namespace":"kube-users","serviceaccount":{"name":"carol","uid":"1"}}}`
	carols := "e30." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".c2ln"
	for _, c := range []struct {
		url, token string
		tenant     bool
	}{
		{"https://center:7443/apis/skerry.dev/v1alpha1/synctargets", carols, true},
		{"https://center:7443/clusters/shop2/api", carols, true},
		{"https://center:7443/clusters/shop/api", carols, false},
		{"https://center:7443/clusters/shop", carols, false},
		{"https://shop.spaces.example.com:7443/api", carols, false},
		{"https://center:7443/apis/skerry.dev/v1alpha1/synctargets", "another", false},
		{"https://center:7443/apis/skerry.dev/v1alpha1/synctargets", "", false},
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		if c.token != "" {
			request.Header.Set("Authorization", "Bearer "+c.token)
		}
		response, err := reaching{"work/shop", unauthorized{}}.RoundTrip(request)
		if response != nil {
			response.Body.Close()
		}
		if (err != nil) != c.tenant || c.tenant != apierrors.IsUnauthorized(err) {
			t.Errorf("%s: %v", c.url, err)
		}
		if c.tenant && !strings.Contains(Plain(err).Error(), "user carol of space shop alone; in the space, kubectl get -o wide shows") {
			t.Errorf("%s: says %v", c.url, Plain(err))
		}
	}
}
