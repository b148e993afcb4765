package apiserver

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"

	"skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/server/apiserver/response"
)

// maxListed is how many spaces the answer about an unknown one names.
const maxListed = 20

// unknown answers a request for a space that does not exist. The admin is told so, with the names
// of others. Everybody else gets the answer of a space in which he is nobody: names of spaces are
// no secret that anybody could ask for one by one.
func (f *front) unknown(w http.ResponseWriter, r *http.Request, space, path string) {
	// Asked in no space, only the center's own credentials count, never a space's tokens.
	resp, ok, err := f.authn.AuthenticateRequest(r)
	if err != nil || !ok || !slices.Contains(resp.User.GetGroups(), user.SystemPrivilegedGroup) {
		f.serveAs(w, r, request.NoSpace, space, path)
		return
	}
	msg := "there is no space " + clip(
		space,
	) + "; " + listed(
		f.spaces.Names(),
	) + "; create it with: skerry space create NAME"
	warn(w, msg)
	response.Write(w, response.Status(http.StatusNotFound, metav1.StatusReasonNotFound, msg))
}

// warn says why a request is refused in a header, too: clients that look for the API's groups first
// drop the body; kubectl shows warnings in any case.
func warn(w http.ResponseWriter, msg string) { w.Header().Set("Warning", "299 - "+strconv.Quote(msg)) }

// clip makes a name that anybody may have written into a URL fit for an answer.
func clip(name string) string {
	if len(name) > 63 {
		name = name[:63] + "..."
	}
	return strconv.QuoteToASCII(name)
}

func listed(names []string) string {
	if len(names) == 0 {
		return "there is none yet besides root"
	}
	if more := len(names) - maxListed; more > 0 {
		return fmt.Sprintf("there are %s and %d more", strings.Join(names[:maxListed], ", "), more)
	}
	return "there are " + strings.Join(names, ", ")
}

func errWildcard() *metav1.Status {
	return response.Status(
		http.StatusForbidden,
		metav1.StatusReasonForbidden,
		"no request can be for all spaces; name one: /clusters/<space>",
	)
}

func errNotLoaded() *metav1.Status {
	return response.Status(
		http.StatusServiceUnavailable,
		metav1.StatusReasonServiceUnavailable,
		"the center is starting and does not know its spaces yet; try again in a moment",
	)
}
