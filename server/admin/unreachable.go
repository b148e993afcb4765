package admin

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"skerry.dev/skerry/server/admin/fleet"
	"skerry.dev/skerry/tunnel/netreason"
)

// unreachable is the error of a request that did not get to the center.
type unreachable struct {
	host, context, why, do string
	err                    error
}

func (e *unreachable) Error() string {
	return fmt.Sprintf("cannot reach center %s (context %s): %s; %s", e.host, e.context, e.why, e.do)
}

func (e *unreachable) Unwrap() error { return e.err }

// Plain is an error as a person at a terminal wants it: where a center was not reached, that alone,
// without the request that was tried; where the center refused, also what to do.
func Plain(err error) error {
	var e *unreachable
	if errors.As(err, &e) {
		return e
	}
	var other *notCenter
	if errors.As(err, &other) {
		return other
	}
	var tenant *ofASpace
	if errors.As(err, &tenant) {
		return tenant
	}
	if err != nil && strings.Contains(err.Error(), noCredentials) {
		return fmt.Errorf("%w; %s", errNoCredentials, "do what the line above says, such as skerry login, or give "+
			"--kubeconfig the file of the center's admin")
	}
	return hinted(err)
}

// errNoCredentials is the error of a context whose credential plugin failed.
var errNoCredentials = errors.New("the current context has no credentials now")

// Message is what a terminal is shown of an error: it may have the words of a tenant or a site.
func Message(err error) string { return fleet.Printable(Plain(err).Error()) }

// unserved reports whether a server does not know a path at all: of an object that is not there it
// answers in JSON.
func unserved(r *http.Response) bool {
	return r.StatusCode == http.StatusNotFound && !strings.HasPrefix(r.Header.Get("Content-Type"), "application/")
}

// noCredentials begins client-go's error for a credential plugin that fails. The plugin says why on
// standard error.
const noCredentials = "getting credentials: exec: "

// reaching makes errors of the network, and of whom the center is, unreachable.
type reaching struct {
	context string // of the kubeconfig
	next    http.RoundTripper
}

func (r reaching) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := r.next.RoundTrip(request)
	if err == nil && unserved(response) {
		if another, err := isAnother(request.Context(), r.next.RoundTrip, request.URL); err == nil && another {
			response.Body.Close()
			return nil, &notCenter{request.URL.Host}
		}
	}
	if err == nil && response.StatusCode == http.StatusUnauthorized {
		if tenant := elsewhere(request); tenant != nil {
			response.Body.Close()
			return nil, tenant
		}
	}
	if err == nil || request.Context().Err() != nil {
		return response, err
	}
	to := &unreachable{host: request.URL.Host, context: r.context, err: err}
	var authority x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	if why, ok := netreason.Of(err); ok {
		to.why, to.do = why, "is this its address, and does it run? There see: systemctl status skerry-center"
	} else if errors.As(err, &authority) {
		to.why = "its certificate is of an authority that the kubeconfig does not name"
		to.do = "get a new one: admin.kubeconfig of its data directory, or skerry space kubeconfig NAME"
	} else if errors.As(err, &name) {
		to.why = name.Error()
		to.do = "give the center this name with --advertise, or use a name that it has"
	} else if errors.As(err, &invalid) && invalid.Reason == x509.Expired {
		to.why = "its certificate is not valid at the time of this machine's clock, " + time.Now().UTC().Format(time.RFC3339)
		to.do = "set the clock if it is wrong (timedatectl set-ntp true); else restart the center: it issues its " +
			"certificate when it starts"
	} else {
		return response, err
	}
	return response, to
}
