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
	const center = "user carol of space shop alone; in the space, kubectl get -o wide shows where an object is"
	for _, c := range []struct {
		url, token string
		says       string
	}{
		{"https://center:7443/apis/skerry.dev/v1alpha1/synctargets", carols, center},
		{"https://center:7443/clusters/bank/api", carols, "user carol of space shop alone, and do not count in space bank; ask " +
			"an admin of that one for a file: skerry space kubeconfig bank --user carol -o FILE"},
		{"https://center:7443/clusters/shop/api", carols, ""},
		{"https://center:7443/clusters/shop", carols, ""},
		{"https://shop.spaces.example.com:7443/api", carols, ""},
		{"https://center:7443/apis/skerry.dev/v1alpha1/synctargets", "another", ""},
		{"https://center:7443/apis/skerry.dev/v1alpha1/synctargets", "", ""},
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
		if (err != nil) != (c.says != "") || apierrors.IsUnauthorized(err) != (c.says != "") {
			t.Errorf("%s: %v", c.url, err)
		} else if err != nil && !strings.Contains(Plain(err).Error(), c.says) {
			t.Errorf("%s: says %v", c.url, Plain(err))
		}
	}
}
