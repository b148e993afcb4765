package outbound

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
)

// Unreached is the error for a server that gave no answer. Its text is the same whether the name
// has no address, nobody listens, or the address is not dialled: spaces must not learn what the
// center's resolver answers and which ports around it are open. Rules.Log gets the cause.
type Unreached struct{ Host string }

// Error implements error.
func (e *Unreached) Error() string {
	return fmt.Sprintf(
		"the center has no answer from %s; check that this name has an address, that HTTPS is served there, "+
			"and that the address is public or in a network that an admin of the center allows with --webhook-allow-cidr",
		e.Host,
	)
}

// Untrusted is the error for a certificate that does not prove its server. Its text contains
// nothing of the certificate.
type Untrusted struct{ Host, Why string }

// Error implements error.
func (e *Untrusted) Error() string {
	return fmt.Sprintf("the certificate of %s is not trusted: %s", e.Host, e.Why)
}

// Wrap turns the errors of a transport into those that a space may see: *Unreached or *Untrusted.
func (r *Rules) Wrap(next http.RoundTripper) http.RoundTripper { return told{next, r.Log} }

type told struct {
	next http.RoundTripper
	log  *slog.Logger
}

// RoundTrip implements http.RoundTripper.
func (t told) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(req)
	if err == nil {
		return resp, nil
	}
	if t.log != nil {
		t.log.Debug("a webhook does not answer", "url", req.URL.Redacted(), "err", err)
	}
	host := req.URL.Host
	var wrong *tls.CertificateVerificationError
	if !errors.As(err, &wrong) {
		return nil, &Unreached{host}
	}
	return nil, &Untrusted{host, distrust(wrong.Err)}
}

// distrust says why a certificate is not trusted, without what it contains.
func distrust(err error) string {
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	switch {
	case errors.As(err, &unknown):
		return "caBundle does not have the authority that signed it"
	case errors.As(err, &name):
		return "it is for another name"
	}
	return "it has expired, or is not one of a server"
}
