package gateway

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/tunnel/exchange"
	"skerry.dev/skerry/tunnel/upward"
)

// identity is a ServiceAccount of a space, in the words of the space.
type identity struct{ space, namespace, name string }

// account is what is kept for an identity in a namespace of the target.
type account struct {
	at      string // the name of the namespace there
	token   string
	sums    [][sha256.Size]byte // of the token, and of the one before
	renewAt time.Time
	seen    time.Time // when a workload named it last
	unread  bool      // what the target has is not known
	doubted time.Time // when the token was refused last
	host    string    // the address that is written in its namespace
}

// Times of what is kept.
const (
	// lookEvery is how often everything is looked at.
	lookEvery = 30 * time.Second
	// unusedTime is how long credentials are kept that no workload names: pods that end still use
	// them.
	unusedTime = 10 * time.Minute
	// checkEvery is how often it is looked whether all that is kept is still there.
	checkEvery = 10 * time.Minute
	// askTime is how long a token is waited for.
	askTime = 30 * time.Second
	// silentTime is how long nothing is asked after a parent that could not be asked: workloads must
	// not wait for it one after the other.
	silentTime = 5 * time.Second
)

// ensure keeps what an identity needs in a namespace, see provide. g.providing must be held.
func (g *Gateway) ensure(ctx context.Context, who identity, at string, anew bool) error {
	host, err := g.service(ctx)
	if err != nil {
		return err
	}
	client, err := g.Clients.For(who.space)
	if err != nil {
		return err
	}
	writer := g.As(client, who.space, who.namespace)
	a := g.account(who)
	if a == nil || a.at != at || a.unread || anew {
		if a, err = g.read(ctx, client, who, at, a); err != nil {
			return err
		}
	}
	now := time.Now()
	a.seen = now
	if a.token == "" || !now.Before(a.renewAt) {
		renewed, err := g.renew(ctx, writer, who, a)
		switch {
		case err != nil && a.token == "":
			return err
		case err != nil: // the token that is there may still do
			g.Log.Debug("a token was not renewed", "space", who.space, "account", who.name, "err", err)
		default:
			a = renewed
		}
	}
	if a.host != host {
		if err := writer.KeepAPIAddress(ctx, at, host, target.GatewayPort); err != nil {
			return fmt.Errorf("say in namespace %s where the API of the space is: %w", at, err)
		}
		a.host = host
	}
	g.put(who, a)
	return nil
}

// read looks whether the target still has what was kept there. Anything else in its place is
// written anew, with a new token: others may write in that namespace, and nothing of what they say
// is believed.
func (g *Gateway) read(
	ctx context.Context,
	c *target.Client,
	who identity,
	at string,
	known *account,
) (*account, error) {
	a := &account{at: at}
	if known != nil && known.at == at {
		*a = *known
		a.unread, a.token, a.host = false, "", ""
	}
	kept, err := c.ReadCredentials(ctx, at, who.name)
	if err != nil {
		return nil, fmt.Errorf("read the credentials of ServiceAccount %s: %w", who.name, err)
	}
	if kept == nil || kept.Space != who.space || kept.SpaceNamespace != who.namespace || kept.Account != who.name ||
		kept.Says != who.namespace || string(kept.CA) != string(g.authority.bundle()) {
		return a, nil
	}
	if i := slices.Index(a.sums, sha256.Sum256([]byte(kept.Token))); i >= 0 {
		a.token = kept.Token
		if i > 0 { // a crash came before the newer one was written
			a.renewAt = time.Time{}
		}
	}
	return a, nil
}

// renew asks for a token and keeps it.
func (g *Gateway) renew(ctx context.Context, writer *target.Client, who identity, a *account) (*account, error) {
	if time.Since(g.silent) < silentTime {
		return nil, fmt.Errorf("no token for ServiceAccount %s/%s of space %s: %w", who.namespace, who.name, who.space,
			g.silence)
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	t, err := upward.AskToken(ctx, g.up, who.space, "", upward.TokenRequest{Namespace: who.namespace, Account: who.name})
	if err != nil {
		if exchange.FaultOf(err).Code == http.StatusServiceUnavailable {
			g.silent, g.silence = time.Now(), err
		}
		return nil, fmt.Errorf("no token for ServiceAccount %s/%s of space %s: %w", who.namespace, who.name, who.space, err)
	}
	next := *a
	next.token, next.renewAt = t.Token, time.Now().Add(time.Until(t.Expires)/2)
	if begin, end := lifeOf(t.Token); !end.IsZero() {
		next.renewAt = time.Now().Add(end.Sub(begin) / 2) // whatever the clock here says
	}
	next.sums = [][sha256.Size]byte{sha256.Sum256([]byte(t.Token))}
	if len(a.sums) > 0 {
		next.sums = append(next.sums, a.sums[0])
	}
	if err := g.remember(who, &next); err != nil {
		return nil, err
	}
	err = writer.KeepCredentials(ctx, target.Credentials{Namespace: a.at, Space: who.space, SpaceNamespace: who.namespace,
		Account: who.name, Token: t.Token, CA: g.authority.bundle()})
	if err != nil {
		return nil, fmt.Errorf("keep the credentials of ServiceAccount %s in namespace %s: %w", who.name, a.at, err)
	}
	return &next, nil
}

// lifeOf reads when a token begins and ends, zero times where it does not say.
func lifeOf(token string) (begin, end time.Time) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 || len(token) > longestAccessToken {
		return begin, end
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	var claims struct {
		Issued  int64 `json:"iat"`
		Expires int64 `json:"exp"`
	}
	if err != nil || json.Unmarshal(text, &claims) != nil || claims.Issued <= 0 || claims.Expires <= claims.Issued {
		return begin, end
	}
	return time.Unix(claims.Issued, 0), time.Unix(claims.Expires, 0)
}

// remember records what is about to be kept for an identity, before it is: what is not recorded is
// not believed after a restart. g.providing must be held.
func (g *Gateway) remember(who identity, a *account) error {
	g.mu.Lock()
	all := maps.Clone(g.accounts)
	g.mu.Unlock()
	if all[who] = a; a == nil {
		delete(all, who)
	}
	if err := g.record.write(all); err != nil {
		return fmt.Errorf("record the credentials of ServiceAccount %s: %w", who.name, err)
	}
	return nil
}

// account returns a copy of what is kept for an identity, nil where nothing is.
func (g *Gateway) account(who identity) *account {
	g.mu.Lock()
	defer g.mu.Unlock()
	if a := g.accounts[who]; a != nil {
		copied := *a
		return &copied
	}
	return nil
}

// put notes what is kept for an identity, nil that nothing is.
func (g *Gateway) put(who identity, a *account) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if old := g.accounts[who]; old != nil {
		for _, sum := range old.sums {
			delete(g.tokens, sum)
		}
	}
	if a == nil {
		delete(g.accounts, who)
		return
	}
	g.accounts[who] = a
	for _, sum := range a.sums {
		g.tokens[sum] = who
	}
}
