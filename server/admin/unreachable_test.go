package admin

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"
)

// round answers every request with an error.
type round struct{ err error }

func (r round) RoundTrip(*http.Request) (*http.Response, error) { return nil, r.err }

// Why a center is not reached is said in words, with what to do.
func TestUnreachable(t *testing.T) {
	invalid := x509.CertificateInvalidError{Reason: x509.Expired, Detail: "current time is after"}
	for _, c := range []struct {
		err       error
		cause, do string
	}{
		{&tls.CertificateVerificationError{Err: invalid}, "this machine's clock, " + time.Now().UTC().Format("2006-01-02"),
			"timedatectl set-ntp true"},
		{&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}, "an authority that the kubeconfig does not name",
			"get a new one"},
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://center:7443/apis", nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = reaching{"root", round{c.err}}.RoundTrip(request)
		var said *unreachable
		if !errors.As(err, &said) || !strings.Contains(err.Error(), c.cause) || !strings.Contains(err.Error(), c.do) {
			t.Errorf("%v: says %v", c.err, err)
		}
	}
}

// A credential plugin that fails has said why on standard error.
func TestNoCredentials(t *testing.T) {
	err := Plain(errors.New(`Get "https://c": getting credentials: exec: executable skerry failed with exit code 1`))
	if !errors.Is(err, errNoCredentials) || !strings.Contains(err.Error(), "skerry login") {
		t.Errorf("says %v", err)
	}
}
