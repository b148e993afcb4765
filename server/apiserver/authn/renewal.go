package authn

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"

	"skerry.dev/skerry/server/apiserver/response"
)

// RenewalPath is where the holder of a client certificate renews it: root answers a POST of a PEM
// certificate request with Renewed as JSON. RBAC of root decides who may post there.
const RenewalPath = "/renew-certificate"

// longestRequest bounds a certificate request, in bytes.
const longestRequest = 16 << 10

// Renewed is the answer at RenewalPath.
type Renewed struct {
	// Certificate is the new client certificate, in PEM.
	Certificate string `json:"certificate"`
	// Authorities are those that the center's own certificate is checked with, in PEM.
	Authorities string `json:"authorities"`
}

// Renewal answers at RenewalPath.
type Renewal struct {
	// Renew issues a certificate with the subject of peer. An error is the request's.
	Renew func(peer *x509.Certificate, request []byte) (Renewed, error)
}

// ServeHTTP implements http.Handler.
func (n Renewal) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if n.Renew == nil {
		response.Write(w, response.NotFound())
		return
	}
	if r.Method != http.MethodPost {
		response.Write(w, response.Status(http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed,
			"post a certificate request here"))
		return
	}
	peer := ownCertificate(r)
	if peer == nil {
		response.Write(w, response.Status(http.StatusForbidden, metav1.StatusReasonForbidden,
			"only the client certificate that makes the request can be renewed; a token cannot, nor another user's"))
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, longestRequest))
	if err != nil {
		response.Write(w, response.Status(http.StatusRequestEntityTooLarge,
			metav1.StatusReasonRequestEntityTooLarge, "the certificate request cannot be read: "+err.Error()))
		return
	}
	renewed, err := n.Renew(peer, body)
	if err != nil {
		response.Write(w, response.Status(http.StatusBadRequest, metav1.StatusReasonBadRequest, err.Error()))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(renewed)
}

// ownCertificate returns the client certificate of the connection if it is what authenticated the
// user of the request, nil otherwise. A user who was impersonated has no certificate.
func ownCertificate(r *http.Request) *x509.Certificate {
	who, ok := apirequest.UserFrom(r.Context())
	if !ok || r.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
		return nil
	}
	peer := r.TLS.PeerCertificates[0]
	if who.GetName() != peer.Subject.CommonName ||
		!slices.Contains(who.GetExtra()[user.CredentialIDKey], credentialID(peer)) {
		return nil
	}
	return peer
}

// credentialID is what the authenticator of client certificates says of the user of one.
func credentialID(c *x509.Certificate) string {
	sum := sha256.Sum256(c.Raw)
	return "X509SHA256=" + hex.EncodeToString(sum[:])
}
