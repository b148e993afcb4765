package signin

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/oauth2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientauthentication "k8s.io/client-go/pkg/apis/clientauthentication/v1"

	"skerry.dev/skerry/tunnel/keyfile"
)

// early is how long before its end a token is replaced.
const early = 15 * time.Second

// kept is what is known of a login.
type kept struct {
	Issuer   string    `json:"issuer"`
	ClientID string    `json:"clientID"`
	IDToken  string    `json:"idToken"`
	Expires  time.Time `json:"expires"`
	Refresh  string    `json:"refreshToken,omitempty"`
}

// Status is what an exec credential plugin answers.
func Status(token string, expires time.Time) clientauthentication.ExecCredentialStatus {
	end := metav1.NewTime(expires.Add(-early))
	return clientauthentication.ExecCredentialStatus{Token: token, ExpirationTimestamp: &end}
}

// file is where the login is kept, below a directory.
func (p Provider) file(dir string) string {
	sum := sha256.Sum256([]byte(p.Issuer + "\x00" + p.ClientID))
	return filepath.Join(dir, "oidc", hex.EncodeToString(sum[:16])+".json")
}

// LoggedIn reports whether a login at the provider is kept below dir. It may have ended.
func (p Provider) LoggedIn(dir string) bool {
	_, err := p.load(p.file(dir))
	return err == nil
}

func (p Provider) load(file string) (kept, error) {
	var k kept
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return k, fmt.Errorf("not logged in at %s; run: %s", p.Issuer, p.login())
	} else if err != nil {
		return k, fmt.Errorf("read the login at %s: %w", p.Issuer, err)
	}
	if err := json.Unmarshal(data, &k); err != nil || k.Issuer != p.Issuer || k.ClientID != p.ClientID {
		return k, fmt.Errorf("the login at %s is damaged (%s); run: %s", p.Issuer, file, p.login())
	}
	return k, nil
}

func save(file string, k kept) error {
	data, err := json.Marshal(k)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return fmt.Errorf("keep the login: %w", err)
	}
	return keyfile.Replace(file, append(data, '\n'))
}

// Token returns the ID token of the login that is kept below dir, and when it ends. It fetches
// another one if it has ended, or is about to. An error says how to log in again.
func (p Provider) Token(ctx context.Context, dir string) (token string, expires time.Time, err error) {
	file := p.file(dir)
	k, err := p.load(file)
	if err != nil || k.fresh() {
		return k.IDToken, k.Expires, err
	}
	unlock, err := keyfile.Lock(file)
	if err != nil {
		return "", time.Time{}, fmt.Errorf("lock the login: %w", err)
	}
	defer unlock()
	// A refresh token may be good for one use, so that only one process may use it.
	if k, err = p.load(file); err != nil || k.fresh() {
		return k.IDToken, k.Expires, err
	}
	if k, err = p.refresh(ctx, k); err != nil {
		return "", time.Time{}, err
	}
	return k.IDToken, k.Expires, save(file, k)
}

func (k kept) fresh() bool { return time.Until(k.Expires) > early }

func (p Provider) refresh(ctx context.Context, k kept) (kept, error) {
	if k.Refresh == "" {
		return k, fmt.Errorf("the login at %s ended at %s, and the provider gave no refresh token; run: %s", p.Issuer,
			k.Expires.UTC().Format(time.RFC3339), p.login())
	}
	c, err := p.open(ctx)
	if err != nil {
		return k, err
	}
	defer c.close()
	t, err := c.config.TokenSource(c, &oauth2.Token{RefreshToken: k.Refresh}).Token()
	if err != nil {
		return k, fmt.Errorf("the login at %s cannot be renewed: %w; run: %s", p.Issuer, reason(err), p.login())
	}
	id, raw, err := c.verify(t, "")
	if err != nil {
		return k, fmt.Errorf("the login at %s cannot be renewed: %w; run: %s", p.Issuer, err, p.login())
	}
	k.IDToken, k.Expires, k.Refresh = raw, id.Expiry, t.RefreshToken
	return k, nil
}
