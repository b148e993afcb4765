package enroll

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"skerry.dev/skerry/tunnel/keyfile"
)

// Examine asks the center whether Join would succeed with this configuration, and returns the
// version of the center. It does not say what is behind the site, of which Join does. Nothing is used
// up, neither here nor there, and nothing is written. It fails as Join does. The secret of the token
// is sent to nobody but the center that the token pins.
func Examine(ctx context.Context, cfg JoinConfig) (centerVersion string, err error) {
	token, err := ParseToken(cfg.Token)
	if err != nil {
		return "", err
	}
	endpoint, err := joinURL(cfg.Parent)
	if err != nil {
		return "", err
	}
	key, err := keyfile.ReadKey(filepath.Join(cfg.Dir, keyFile))
	if errors.Is(err, os.ErrNotExist) {
		key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	}
	if err != nil {
		return "", err
	}
	csr, err := requestFor(key, cfg.Name)
	if err != nil {
		return "", err
	}
	return examine(ctx, cfg.Dial, endpoint, pinned(token.Pin), request{
		TokenID: token.ID, Secret: token.Secret, Name: cfg.Name, Labels: cfg.Labels, CSR: csr, Examine: true,
	})
}

// Examine asks the center whether it still lets this site in, and returns the version of the
// center. It fails with ErrRevoked for a site that was revoked, and with ErrUnknownSite for one that
// is not, or no longer, there under this key.
func (c *Credentials) Examine(ctx context.Context, dial Dial, parent string) (centerVersion string, err error) {
	endpoint, err := joinURL(parent)
	if err != nil {
		return "", err
	}
	csr, err := c.CSR()
	if err != nil {
		return "", err
	}
	return examine(ctx, dial, endpoint, c.rootsOf, request{Name: c.name, CSR: csr, Examine: true})
}

func examine(ctx context.Context, dial Dial, endpoint string, roots rootsOf, r request) (string, error) {
	body, err := json.Marshal(r)
	if err != nil {
		return "", err
	}
	out, err := post(ctx, dial, endpoint, roots, body, Behind{})
	if err != nil {
		return "", err
	}
	return out.Version, nil
}

// PinnedTime asks the center that a token pins for its time. It fails with ErrWrongCA when somebody
// else answers. The time is zero when the center does not tell it. It judges no times of
// certificates, because this machine's clock may be wrong.
func PinnedTime(ctx context.Context, dial Dial, parent, token string) (time.Time, error) {
	t, err := ParseToken(token)
	if err != nil {
		return time.Time{}, err
	}
	return timeOf(ctx, dial, parent, verifying(pinned(t.Pin), whenever))
}

// ParentTime is PinnedTime for a site that has joined.
func (c *Credentials) ParentTime(ctx context.Context, dial Dial, parent string) (time.Time, error) {
	return timeOf(ctx, dial, parent, verifying(c.rootsOf, whenever))
}

func timeOf(ctx context.Context, dial Dial, parent string, config *tls.Config) (time.Time, error) {
	endpoint, err := joinURL(parent)
	if err != nil {
		return time.Time{}, err
	}
	return dateOf(ctx, dial, config, endpoint)
}

// postOnly is the answer to whoever does not post.
const postOnly = "POST only"

// IsCenter reports whether some center answers at an address, be it the right one or another. It
// proves nothing: anybody can answer so.
func IsCenter(ctx context.Context, dial Dial, parent string) bool {
	endpoint, err := joinURL(parent)
	if err != nil {
		return false
	}
	// Nothing is sent that is not known to everybody: there is no authority to check it by.
	client, done := clientFor(dial, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS13})
	defer done()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, endpoint, nil)
	if err != nil {
		return false
	}
	res, err := client.Do(req)
	if err != nil {
		return false
	}
	defer res.Body.Close()
	said, err := io.ReadAll(io.LimitReader(res.Body, int64(2*len(postOnly))))
	return err == nil && res.StatusCode == http.StatusMethodNotAllowed && strings.TrimSpace(string(said)) == postOnly
}

// ProvenKey returns the fingerprint of the key of a request, when the request is signed by it. It
// is how a center knows a site without a token.
func ProvenKey(csrPEM []byte) (string, error) {
	csr, err := keyfile.Request(csrPEM)
	if err != nil {
		return "", fmt.Errorf("certificate request: %w", err)
	}
	if err := csr.CheckSignature(); err != nil {
		return "", fmt.Errorf("certificate request: %w", err)
	}
	return Fingerprint(csr.RawSubjectPublicKeyInfo), nil
}

// rootsOf returns the authorities by which a connection is judged.
type rootsOf = func(tls.ConnectionState) (*x509.CertPool, error)
