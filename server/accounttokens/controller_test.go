package accounttokens

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/spaceapi/spaceapitest"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/storetest"
)

// cluster is a kube API as far as a Controller sees one, and signs tokens. It hands every write on.
type cluster struct {
	mu      sync.Mutex
	c       *Controller
	objects map[store.Key]map[string]any
	bundle  string
	signed  int
	reads   int // of Secrets and accounts
	fails   bool
}

func newCluster() *cluster {
	s := &cluster{objects: map[store.Key]map[string]any{}, bundle: "ca"}
	s.c = New(Config{API: s, Issuer: s, Bundle: func() []byte { return []byte(s.bundle) },
		Log: slog.New(slog.DiscardHandler)})
	return s
}

func (s *cluster) set(k store.Key, obj map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.putLocked(k, obj)
}

func (s *cluster) putLocked(k store.Key, obj map[string]any) {
	if obj == nil {
		delete(s.objects, k)
	} else {
		s.objects[k] = obj
	}
	s.c.Apply(store.Write{Key: k, Object: obj})
}

// Live implements API.
func (s *cluster) Live(_ context.Context, k store.Key, _ string) (map[string]any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads++
	if strings.ContainsAny(k.Name, "/%") {
		return nil, errors.New("invalid name: it cannot be a part of a path")
	}
	if s.objects[k] == nil {
		return nil, spaceapitest.NotFound(k)
	}
	return spaceapitest.Clone(s.objects[k]), nil
}

// Patch implements API.
func (s *cluster) Patch(_ context.Context, k store.Key, _, _ string, patch []byte) (map[string]any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var p map[string]any
	if err := json.Unmarshal(patch, &p); err != nil {
		return nil, err
	}
	obj := spaceapitest.Clone(s.objects[k])
	switch {
	case obj == nil:
		return nil, spaceapitest.NotFound(k)
	case uidOf(p) != uidOf(obj):
		return nil, spaceapitest.Conflict(k)
	}
	spaceapitest.Merge(obj, p)
	s.putLocked(k, obj)
	return obj, nil
}

// Delete implements API.
func (s *cluster) Delete(_ context.Context, k store.Key, _, uid string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.objects[k] == nil || uidOf(s.objects[k]) != uid {
		return spaceapitest.NotFound(k)
	}
	s.putLocked(k, nil)
	return nil
}

// SecretToken implements Issuer.
func (s *cluster) SecretToken(_ context.Context, account, secret Identity) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fails {
		return "", errors.New("no key")
	}
	s.signed++
	return account.UID + " in " + secret.UID, nil
}

func (s *cluster) data(k store.Key, name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	text, err := base64.StdEncoding.DecodeString(fields.String(s.objects[k], "data", name))
	if err != nil {
		panic(err)
	}
	return string(text)
}

func (s *cluster) has(k store.Key) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.objects[k] != nil
}

var (
	account = store.Key{Space: "a", Resource: "serviceaccounts", Namespace: "web", Name: "robot"}
	secret  = store.Key{Space: "a", Resource: "secrets", Namespace: "web", Name: "robot-token"}
)

func accountWith(uid string) map[string]any {
	return map[string]any{"metadata": map[string]any{"name": "robot", "namespace": "web", "uid": uid}}
}

func secretOf(kind, account string) map[string]any {
	return map[string]any{"type": kind, "metadata": map[string]any{"name": "robot-token", "namespace": "web", "uid": "s1",
		"annotations": map[string]any{"kubernetes.io/service-account.name": account}}}
}

const tokenType = "kubernetes.io/service-account-token"

func run(t *testing.T, test func(t *testing.T, s *cluster, settle func())) {
	synctest.Test(t, func(t *testing.T) {
		s := newCluster()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- s.c.Run(ctx) }()
		test(t, s, func() { time.Sleep(time.Minute); synctest.Wait() })
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestSecretIsFilled(t *testing.T) {
	run(t, func(t *testing.T, s *cluster, settle func()) {
		s.set(account, accountWith("u1"))
		s.set(secret, secretOf(tokenType, "robot"))
		settle()
		for name, want := range map[string]string{"token": "u1 in s1", "ca.crt": "ca", "namespace": "web"} {
			if got := s.data(secret, name); got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
		if got := fields.String(fields.Map(s.objects[secret], "metadata", "annotations"),
			"kubernetes.io/service-account.uid"); got != "u1" {
			t.Errorf("the UID is %q", got)
		}
		s.bundle = "new ca"
		s.c.Renew()
		settle()
		if got := s.data(secret, "ca.crt"); got != "new ca" || s.signed != 1 {
			t.Errorf("after new authorities ca.crt is %q, and %d tokens were signed", got, s.signed)
		}
	})
}

// A user of the space is an account, too, and who may write Secrets is not every user.
func TestNoSecretHasATokenOfAUser(t *testing.T) {
	run(t, func(t *testing.T, s *cluster, settle func()) {
		user, taken := account, secret
		user.Namespace, taken.Namespace = v1alpha1.UsersNamespace, v1alpha1.UsersNamespace
		s.set(user, accountWith("u1"))
		s.set(taken, secretOf(tokenType, "robot"))
		settle()
		if s.signed != 0 || s.data(taken, "token") != "" {
			t.Errorf("%d tokens were signed", s.signed)
		}
	})
}

func TestSecretWaitsForItsAccount(t *testing.T) {
	run(t, func(t *testing.T, s *cluster, settle func()) {
		s.set(secret, secretOf(tokenType, "robot"))
		settle()
		if !s.has(secret) || s.signed != 0 {
			t.Fatalf("there: %v, signed %d", s.has(secret), s.signed)
		}
		s.set(account, accountWith("u1"))
		settle()
		if got := s.data(secret, "token"); got != "u1 in s1" {
			t.Errorf("token is %q", got)
		}
	})
}

func TestSecretEndsWithItsAccount(t *testing.T) {
	for name, next := range map[string]map[string]any{"deleted": nil, "made again": accountWith("u2")} {
		t.Run(name, func(t *testing.T) {
			run(t, func(t *testing.T, s *cluster, settle func()) {
				s.set(account, accountWith("u1"))
				s.set(secret, secretOf(tokenType, "robot"))
				settle()
				s.set(account, next)
				settle()
				if s.has(secret) {
					t.Error("the Secret is still there")
				}
				if len(s.c.accounts) != 0 || len(s.c.secrets) != 0 {
					t.Errorf("remembered: %v %v", s.c.accounts, s.c.secrets)
				}
			})
		})
	}
}

func TestOtherSecretsAreLeftAlone(t *testing.T) {
	run(t, func(t *testing.T, s *cluster, settle func()) {
		s.set(account, accountWith("u1"))
		s.set(secret, secretOf("Opaque", "robot"))
		settle()
		if s.signed != 0 || s.data(secret, "token") != "" {
			t.Error("an Opaque Secret was filled")
		}
		elsewhere := secret
		elsewhere.Space = "b"
		s.set(elsewhere, secretOf(tokenType, "robot"))
		settle()
		if s.signed != 0 {
			t.Error("the account of another space was taken")
		}
	})
}

// A Secret that names no account that there could be is not looked at for ever.
func TestNamesOfNobody(t *testing.T) {
	run(t, func(t *testing.T, s *cluster, settle func()) {
		s.set(account, accountWith("u1"))
		for i, name := range []string{"../robot", "web/robot", "a/robot", "..%2frobot", "robot/token", "Robot",
			"robot ", "..", "*"} {
			k := secret
			k.Name = fmt.Sprint(i)
			s.set(k, secretOf(tokenType, name))
		}
		settle()
		settle()
		if s.signed != 0 || s.reads != 0 || len(s.c.secrets) != 0 {
			t.Errorf("%d signed, %d reads, %v", s.signed, s.reads, s.c.secrets)
		}
	})
}

func TestResetAndFailuresAreTriedAgain(t *testing.T) {
	run(t, func(t *testing.T, s *cluster, settle func()) {
		s.objects[account], s.objects[secret] = accountWith("u1"), secretOf(tokenType, "robot")
		s.fails = true
		s.c.Reset(1, storetest.Listing(slices.Values([]store.Write{
			{Key: account, Object: s.objects[account]}, {Key: secret, Object: s.objects[secret]},
		})))
		settle()
		s.mu.Lock()
		s.fails = false
		s.mu.Unlock()
		settle()
		if got := s.data(secret, "token"); got != "u1 in s1" {
			t.Errorf("token is %q", got)
		}
	})
}
