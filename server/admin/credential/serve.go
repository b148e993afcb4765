package credential

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientauthentication "k8s.io/client-go/pkg/apis/clientauthentication/v1"
	"k8s.io/client-go/rest"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/tunnel/netreason"
)

// again is how soon a program asks again whose credential was refused.
const again = 30 * time.Second

// Serve writes the credential of that name to out, as an ExecCredential, and renews it before if it
// is due. center is the address of the API that it is used at; nil renews nothing. client is the
// process that asks: one that asks again within seconds was refused, so the credential is renewed
// whether or not it is due. An error says what to do next.
func (s Store) Serve(ctx context.Context, n Name, center *rest.Config, client int, out io.Writer) error {
	c, err := s.Load(n)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w; %s", err, n.anew(c))
	} else if err != nil {
		return err
	}
	refused := s.asksAgain(n, client)
	if center != nil && (refused || c.due(time.Now())) {
		if c, err = s.renewLocked(ctx, n, center, refused); err != nil {
			return err
		}
	}
	_, until, err := c.span()
	if err != nil {
		return fmt.Errorf("credentials %s: %s is damaged: %w; %s", n, s.file(n), err, n.anew(c))
	}
	if _, over := c.ended(time.Now()); over {
		return n.endedAt(until, c)
	}
	return c.print(until, out)
}

// renewLocked renews a credential while no other process does. It returns the one before if the
// center is away, or does not renew.
func (s Store) renewLocked(ctx context.Context, n Name, center *rest.Config, refused bool) (Credential, error) {
	unlock, err := lock(s.file(n))
	if err != nil {
		return Credential{}, err
	}
	defer unlock()
	c, err := s.Load(n) // another process may have renewed it
	if err != nil || !refused && !c.due(time.Now()) {
		return c, err
	}
	next, err := c.renew(ctx, center)
	if len(next.authorities) == 0 {
		if bad := s.learn(n.Center, next.shown); bad != nil {
			return c, fmt.Errorf("keep the authorities of center %s: %w", n.Center, bad)
		}
	}
	switch {
	case err == nil:
		if len(next.authorities) > 0 {
			err = s.SaveAuthorities(n.Center, next.authorities)
		}
		return next.Credential, errors.Join(err, s.Save(n, next.Credential))
	case errors.Is(err, errUnknown):
		if until, over := c.ended(time.Now()); over { // which no center renews
			return c, n.endedAt(until, c)
		}
		return c, fmt.Errorf("credentials %s: %w; %s", n, err, n.anew(c))
	case errors.Is(err, errNotRenewable):
		c.Next = time.Now().Add(renewAfter)
	default:
		c.Next = time.Now().Add(askAgain)
		if until, over := c.ended(time.Now()); over {
			why, _ := netreason.Of(err)
			if why == "" {
				why = err.Error()
			}
			return c, fmt.Errorf("credentials %s ended at %s and cannot be renewed: cannot reach center %s: %s; %s",
				n, until.UTC().Format(time.RFC3339), center.Host, why, n.anew(c))
		}
	}
	return c, s.Save(n, c)
}

func (n Name) endedAt(until time.Time, c Credential) error {
	return fmt.Errorf("credentials %s ended at %s; %s", n, until.UTC().Format(time.RFC3339), n.anew(c))
}

// anew says how a person gets other credentials.
func (n Name) anew(c Credential) string {
	if t, err := ParseToken(c.Token); err == nil {
		return fmt.Sprintf("ask an admin of the space for a file (skerry space kubeconfig %s --user %s -o FILE), "+
			"then: skerry space use %[1]s --kubeconfig FILE", t.Space, t.User)
	}
	if n.Space == v1alpha1.RootSpace {
		return "take admin.kubeconfig from the center's data directory, then: skerry space use root --kubeconfig FILE"
	}
	return fmt.Sprintf("get a kubeconfig of the space, then: skerry space use %s --kubeconfig FILE", n.Space)
}

// asksAgain reports whether a process was given the credential a moment ago, and records that it is
// given it now.
func (s Store) asksAgain(n Name, client int) bool {
	file := s.file(n) + ".given"
	data, err := os.ReadFile(file)
	info, missing := os.Stat(file)
	same := err == nil && missing == nil && string(data) == strconv.Itoa(client) && time.Since(info.ModTime()) < again
	if same {
		os.Remove(file)
		return true
	}
	// Without the record the program is told less about why it is refused, and that is all.
	_ = os.WriteFile(file, []byte(strconv.Itoa(client)), 0o600)
	return false
}

// print writes the answer of an exec credential plugin. The program asks again when the credential
// may be due.
func (c Credential) print(until time.Time, out io.Writer) error {
	if soon := time.Now().Add(renewAfter); until.After(soon) {
		until = soon
	}
	expires := metav1.NewTime(until)
	return PrintExec(out, clientauthentication.ExecCredentialStatus{ExpirationTimestamp: &expires, Token: c.Token,
		ClientCertificateData: c.Certificate, ClientKeyData: c.Key})
}

// PrintExec writes an ExecCredential.
func PrintExec(out io.Writer, status clientauthentication.ExecCredentialStatus) error {
	return json.NewEncoder(out).Encode(clientauthentication.ExecCredential{
		TypeMeta: metav1.TypeMeta{APIVersion: clientauthentication.SchemeGroupVersion.String(), Kind: "ExecCredential"},
		Status:   &status,
	})
}
