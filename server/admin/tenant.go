package admin

import (
	"fmt"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/server/admin/credential"
)

// ofASpace is the error of a request to the center itself, or to another space, with a token of a user of a
// space, whom these do not know. It is an answer of the API, Unauthorized.
type ofASpace struct{ user, space, other string }

func (e *ofASpace) Error() string {
	if e.other != "" {
		return fmt.Sprintf("these credentials are of user %s of space %s alone, and do not count in space %[3]s; ask an "+
			"admin of that one for a file: skerry space kubeconfig %[3]s --user %[1]s -o FILE", e.user, e.space, e.other)
	}
	return fmt.Sprintf("this is for admins of the center, and these credentials are of user %s of space %s alone; "+
		"in the space, kubectl get -o wide shows where an object is, and skerry explain "+
		"placement why; an admin of the center has admin.kubeconfig of its data directory", e.user, e.space)
}

// Status implements apierrors.APIStatus.
func (e *ofASpace) Status() metav1.Status {
	return metav1.Status{Status: metav1.StatusFailure, Code: http.StatusUnauthorized,
		Reason: metav1.StatusReasonUnauthorized, Message: e.Error()}
}

// elsewhere returns an ofASpace if a request was made with a token of a space, and not to that space.
func elsewhere(request *http.Request) error {
	bearer, _ := strings.CutPrefix(request.Header.Get("Authorization"), "Bearer ")
	t, err := credential.ParseToken(bearer)
	host, _, _ := strings.Cut(request.URL.Hostname(), ".")
	if err != nil || host == t.Space || strings.HasPrefix(request.URL.Path+"/", "/clusters/"+t.Space+"/") {
		return nil
	}
	other, _ := strings.CutPrefix(request.URL.Path, "/clusters/")
	if other, _, _ = strings.Cut(other, "/"); !strings.HasPrefix(request.URL.Path, "/clusters/") {
		other = ""
	}
	return &ofASpace{t.User, t.Space, other}
}
