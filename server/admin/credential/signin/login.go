package signin

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/coreos/go-oidc"
	"golang.org/x/oauth2"
)

// DefaultListen is where the browser is sent back to. The provider must know the URL
// http://127.0.0.1:8000/callback of the client, where it compares ports.
const DefaultListen = "127.0.0.1:8000"

// loginTime bounds how long a person may take.
const loginTime = 5 * time.Minute

// callback is the path that the browser is sent back to.
const callback = "/callback"

// LoginOptions say how a person logs in.
type LoginOptions struct {
	// Dir is where the login is kept.
	Dir string
	// Device asks for a code that is typed at another device, instead of a browser at this machine.
	Device bool
	// Listen is the loopback address that the browser is sent back to; port 0 means any free one.
	Listen string
	// Browse opens a URL in the person's browser. It may fail: the URL is printed too.
	Browse func(url string) error
	Out    io.Writer
}

// Login has the person log in, and keeps the tokens. It returns when that is done.
func (p Provider) Login(ctx context.Context, o LoginOptions) error {
	ctx, cancel := context.WithTimeoutCause(ctx, loginTime, errSlow)
	defer cancel()
	c, err := p.open(ctx)
	if err != nil {
		return err
	}
	defer c.close()
	way := c.byBrowser
	if o.Device {
		way = c.byDevice
	}
	t, nonce, err := way(o)
	if err != nil {
		return fmt.Errorf("log in at %s: %w%s", p.Issuer, reason(err), p.todo(err))
	}
	id, raw, err := c.verify(t, nonce)
	if err != nil {
		return fmt.Errorf("log in at %s: %w", p.Issuer, err)
	}
	k := kept{Issuer: p.Issuer, ClientID: p.ClientID, IDToken: raw, Expires: id.Expiry, Refresh: t.RefreshToken}
	if err := save(p.file(o.Dir), k); err != nil {
		return err
	}
	renewal := "it is renewed by itself"
	if k.Refresh == "" {
		renewal = "the provider gave no refresh token, so log in again then"
	}
	_, err = fmt.Fprintf(o.Out, "Logged in at %s as %s, until %s; %s.\n", p.Issuer, who(id),
		id.Expiry.UTC().Format(time.RFC3339), renewal)
	return err
}

// who is how a person knows themselves.
func who(id *oidc.IDToken) string {
	var claims struct {
		Email string `json:"email"`
		Name  string `json:"preferred_username"`
	}
	if id.Claims(&claims) == nil && claims.Email != "" {
		return claims.Email
	}
	if claims.Name != "" {
		return claims.Name
	}
	return id.Subject
}

// byDevice has the person type a code elsewhere.
func (c *conversation) byDevice(o LoginOptions) (t *oauth2.Token, nonce string, err error) {
	if c.config.Endpoint.DeviceAuthURL == "" {
		return nil, "", errors.New("the provider has no codes for devices; leave out --device")
	}
	verifier := oauth2.GenerateVerifier()
	code, err := c.config.DeviceAuth(c, oauth2.S256ChallengeOption(verifier))
	if err != nil {
		return nil, "", err
	}
	fmt.Fprintf(o.Out, "Open %s and enter the code %s\n", code.VerificationURI, code.UserCode)
	t, err = c.config.DeviceAccessToken(c, code, oauth2.VerifierOption(verifier))
	return t, "", err
}

// byBrowser has the person log in with a browser, which is then sent back to this machine.
func (c *conversation) byBrowser(o LoginOptions) (t *oauth2.Token, nonce string, err error) {
	l, err := net.Listen("tcp", o.Listen)
	if err != nil {
		return nil, "", fmt.Errorf("wait for the browser at %s: %w; name another address with --listen, or use --device",
			o.Listen, err)
	}
	defer l.Close()
	if ip := l.Addr().(*net.TCPAddr).IP; !ip.IsLoopback() {
		return nil, "", fmt.Errorf("--listen %s: the browser is sent back to the loopback of this machine, as in %s",
			o.Listen, DefaultListen)
	}
	c.config.RedirectURL = "http://" + l.Addr().String() + callback
	back := &redirect{state: rand.Text(), code: make(chan string, 1), failed: make(chan error, 1)}
	server := &http.Server{Handler: back, ReadHeaderTimeout: answerTime}
	served := make(chan struct{})
	go func() { defer close(served); server.Serve(l) }()
	defer func() {
		ending, cancel := context.WithTimeout(context.WithoutCancel(c), time.Second)
		defer cancel()
		if server.Shutdown(ending) != nil {
			server.Close()
		}
		<-served
	}()
	verifier, nonce := oauth2.GenerateVerifier(), rand.Text()
	at := c.config.AuthCodeURL(back.state, oidc.Nonce(nonce), oauth2.S256ChallengeOption(verifier))
	fmt.Fprintf(o.Out, "Log in with your browser at:\n%s\n", at)
	if o.Browse != nil {
		_ = o.Browse(at) // the URL is printed
	}
	select {
	case code := <-back.code:
		t, err = c.config.Exchange(c, code, oauth2.VerifierOption(verifier))
		return t, nonce, err
	case err := <-back.failed:
		return nil, "", err
	case <-c.Done():
		return nil, "", context.Cause(c)
	}
}

// errSlow is the error of a login that nobody finished.
var errSlow = fmt.Errorf("nobody logged in within %s", loginTime)

// redirect is where the browser comes back to.
type redirect struct {
	state  string
	code   chan string
	failed chan error
}

// ServeHTTP takes the first answer of the provider that has the state of this login.
func (b *redirect) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Referrer-Policy", "no-referrer")
	q := r.URL.Query()
	if r.URL.Path != callback || r.Method != http.MethodGet ||
		subtle.ConstantTimeCompare([]byte(q.Get("state")), []byte(b.state)) != 1 {
		http.Error(w, "This is not the answer to the login that skerry waits for.", http.StatusBadRequest)
		return
	}
	if code := q.Get("code"); code != "" {
		select {
		case b.code <- code:
		default: // one is enough
		}
		fmt.Fprintln(w, "You may close this window, and go on in the terminal.")
		return
	}
	why := q.Get("error")
	if text := q.Get("error_description"); text != "" {
		why = text + " (" + why + ")"
	}
	select {
	case b.failed <- fmt.Errorf("the provider refuses: %q", why):
	default:
	}
	http.Error(w, "The provider refuses the login; the terminal says why.", http.StatusForbidden)
}
