package sessions

import (
	"encoding/pem"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/tunnel/enroll"
)

// 30 tokens, each tried by many sites at once while the center restarts again and again: each
// joins exactly one.
func TestTokenJoinsOnce(t *testing.T) {
	c := newCenter(t)
	const tokens, sites, rounds = 30, 5, 2
	servers := []*Server{c.sessions, c.restart(), c.restart()} // the API's own order decides, whichever process asks
	for i := range tokens {
		token := c.token(nil, time.Hour)
		var mu sync.Mutex
		won := map[string]int{}
		var all sync.WaitGroup
		for n := range sites {
			s := newSite(t, fmt.Sprintf("t%d-s%d", i, n))
			csr := s.csr(t)
			all.Go(func() {
				for round := range rounds {
					server := servers[(n+round)%len(servers)]
					out := c.post(server, token.ID, token.Secret, s.name, nil, csr)
					if out.status == http.StatusOK {
						mu.Lock()
						won[s.name]++
						mu.Unlock()
					} else if out.Code != "token-used" {
						t.Errorf("token %d: %+v", i, out)
					}
				}
			})
		}
		all.Wait()
		if len(won) != 1 {
			t.Fatalf("token %d joined %v", i, won)
		}
		for name := range won {
			if c.api.get(targetsPath+"/"+name) == nil {
				t.Errorf("SyncTarget %s is missing", name)
			}
		}
	}
	if n := len(c.sessions.targets.names()); n != tokens {
		t.Errorf("%d targets, want %d", n, tokens)
	}
}

// A token for several sites joins as many as it is for, whichever replica they come to, and each
// again that lost its answer. The labels of the token count, whatever a site says of itself.
func TestTokenForManySites(t *testing.T) {
	c := newCenter(t)
	const uses, sites = 6, 10
	servers := []*Server{c.sessions, c.restart(), c.restart()}
	text, err := CreateToken(t.Context(), c.root(),
		TokenOptions{Labels: map[string]string{"line": "north"}, TTL: time.Hour, Uses: uses})
	must(t, err)
	token, err := enroll.ParseToken(text)
	must(t, err)
	var mu sync.Mutex
	var joined []string
	var all sync.WaitGroup
	for n := range sites {
		s := newSite(t, fmt.Sprintf("board-%d", n))
		csr := s.csr(t)
		all.Go(func() {
			for round := range 2 {
				server := servers[(n+round)%len(servers)]
				out := c.post(server, token.ID, token.Secret, s.name, map[string]string{"line": "south"}, csr)
				for out.status == http.StatusInternalServerError { // it lost to others five times, and comes again
					out = c.post(server, token.ID, token.Secret, s.name, map[string]string{"line": "south"}, csr)
				}
				switch {
				case out.status == http.StatusOK && round == 0:
					mu.Lock()
					joined = append(joined, s.name)
					mu.Unlock()
				case out.status != http.StatusOK && out.Code != "token-used":
					t.Errorf("%s: %+v", s.name, out)
				}
			}
		})
	}
	all.Wait()
	if len(joined) != uses {
		t.Errorf("%d of %d joined: %v", len(joined), uses, joined)
	}
	many, err := CreateToken(t.Context(), c.root(), TokenOptions{TTL: time.Hour, Uses: 2})
	must(t, err)
	other, err := enroll.ParseToken(many)
	must(t, err)
	c.api.change(targetsPath+"/released", map[string]any{"apiVersion": "skerry.dev/v1alpha1", "kind": "SyncTarget",
		"metadata": map[string]any{"name": "released", "uid": "r"}})
	if out := c.join(newSite(t, "released"), other); out.Code != "name-in-use" {
		t.Errorf("one of many takes the place of a site that was let go: %+v", out)
	}
	must(t, RevokeToken(t.Context(), c.root(), other.ID, false))
	slices.Sort(joined)
	list, err := ListTokens(t.Context(), c.root())
	must(t, err)
	if len(list) != 1 || list[0].Uses != uses || !slices.Equal(list[0].UsedBy, joined) || !list[0].Spent() {
		t.Errorf("tokens: %+v", list)
	}
	for _, name := range joined {
		target := c.api.get(targetsPath + "/" + name)
		if target == nil {
			t.Fatalf("SyncTarget %s is missing", name)
		}
		if labels := target["metadata"].(map[string]any)["labels"]; labels.(map[string]any)["line"] != "north" {
			t.Errorf("labels of %s: %v", name, labels)
		}
	}
}

// A site that is called as a Location would get all that wishes for the Location place.
func TestNoSiteTakesTheNameOfALocation(t *testing.T) {
	c := newCenter(t)
	c.api.change("/apis/skerry.dev/v1alpha1/locations/eu", map[string]any{
		"kind": "Location", "apiVersion": "skerry.dev/v1alpha1", "metadata": map[string]any{"name": "eu"}})
	token := c.token(nil, time.Hour)
	if out := c.join(newSite(t, "eu"), token); out.Code != "name" || !strings.Contains(fmt.Sprint(out), "Location eu") {
		t.Errorf("joined by the name of a Location: %+v", out)
	}
	if c.api.get(targetsPath+"/eu") != nil {
		t.Error("it is a SyncTarget")
	}
	if out := c.join(newSite(t, "eu-1"), token); out.status != http.StatusOK {
		t.Errorf("the token is used up: %+v", out)
	}
}

// 1,000 forged joins: none is signed, and none uses a token up or makes a target.
func TestForgeriesAreNotSigned(t *testing.T) {
	c := newCenter(t)
	random := rand.New(rand.NewPCG(1, 2))
	fresh, expired, used := c.token(nil, time.Hour), c.token(nil, time.Hour), c.token(nil, time.Hour)
	c.api.change(
		secretsPath+"/"+tokenPrefix+expired.ID,
		map[string]any{"data": map[string]any{dataExpires: []byte("2020-01-01T00:00:00Z")}},
	)
	owner := newSite(t, "owner")
	if c.join(owner, used).status != http.StatusOK {
		t.Fatal("the honest join was refused")
	}
	signed, objects := c.signed.Load(), len(c.api.objects)
	before := fmt.Sprint(c.api.get(secretsPath + "/" + tokenPrefix + fresh.ID))
	key, stranger := newKey(t), newKey(t)
	good := request(t, key, "victim")
	hex := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = "0123456789abcdef"[random.IntN(16)]
		}
		return string(b)
	}
	forgeries := []func() answered{
		func() answered { return c.post(c.sessions, fresh.ID, hex(32), "victim", nil, good) },
		func() answered { return c.post(c.sessions, hex(8), fresh.Secret, "victim", nil, good) },
		func() answered { return c.post(c.sessions, used.ID, fresh.Secret, "owner", nil, owner.csr(t)) },
		func() answered { return c.post(c.sessions, expired.ID, expired.Secret, "victim", nil, good) },
		func() answered {
			return c.post(c.sessions, used.ID, used.Secret, "victim", nil, request(t, owner.key, "victim"))
		},
		func() answered {
			return c.post(c.sessions, used.ID, used.Secret, "owner", nil, request(t, stranger, "owner"))
		},
		func() answered {
			return c.post(c.sessions, fresh.ID, fresh.Secret, "owner", nil, request(t, stranger, "owner"))
		},
		func() answered { return c.post(c.sessions, fresh.ID, fresh.Secret, "victi", nil, good) },
		func() answered { return c.post(c.sessions, fresh.ID, fresh.Secret, "victim-2", nil, good) },
		func() answered { return c.post(c.sessions, fresh.ID, fresh.Secret, "Victim", nil, good) },
		func() answered { return c.post(c.sessions, fresh.ID, fresh.Secret, "../victim", nil, good) },
		func() answered { return c.post(c.sessions, "../"+fresh.ID, fresh.Secret, "victim", nil, good) },
		func() answered { return c.post(c.sessions, fresh.ID, fresh.Secret, "victim", nil, nil) },
		func() answered {
			return c.post(c.sessions, fresh.ID, fresh.Secret, "victim", nil, good[:random.IntN(len(good)-30)])
		},
		func() answered {
			block, _ := pem.Decode(good)
			block.Bytes[random.IntN(len(block.Bytes))] ^= 1 << random.IntN(8)
			return c.post(c.sessions, fresh.ID, fresh.Secret, "victim", nil, pem.EncodeToMemory(block))
		},
		func() answered {
			return c.post(c.sessions, fresh.ID, fresh.Secret, "victim", map[string]string{"a b": "c"}, good)
		},
	}
	for i := range 1000 {
		if out := forgeries[i%len(forgeries)](); out.status == http.StatusOK || out.status >= 500 {
			t.Errorf("forgery %d: %+v", i%len(forgeries), out)
		}
	}
	if n := c.signed.Load() - signed; n != 0 {
		t.Errorf("%d forgeries were signed", n)
	}
	if len(c.api.objects) != objects || fmt.Sprint(c.api.get(secretsPath+"/"+tokenPrefix+fresh.ID)) != before {
		t.Error("forgeries left something behind")
	}
	if out := c.post(c.sessions, fresh.ID, fresh.Secret, "victim", nil, good); out.status != http.StatusOK {
		t.Errorf("the honest join after them: %+v", out)
	}
}

func TestLostAnswerIsGivenAgain(t *testing.T) {
	c := newCenter(t)
	token, s := c.token(nil, time.Hour), newSite(t, "paris")
	// The center dies at each write of the join in turn; the site asks again.
	for _, step := range []struct{ method, path string }{
		{http.MethodPatch, secretsPath + "/" + tokenPrefix + token.ID}, {http.MethodPost, targetsPath},
		{http.MethodPatch, secretsPath + "/" + tokenPrefix + token.ID},
	} {
		once := true
		c.api.meddle = func(r *http.Request, path string) int {
			if once && r.Method == step.method && path == step.path {
				once = false
				return http.StatusInternalServerError
			}
			return 0
		}
		if out := c.join(s, token); out.status != http.StatusInternalServerError || out.Code != "" {
			t.Fatalf("with a failing write: %+v", out)
		}
		c.restart()
	}
	c.api.meddle = nil
	for range 3 {
		if out := c.join(s, token); out.status != http.StatusOK {
			t.Fatalf("asked again: %+v", out)
		}
	}
	if out := c.join(newSite(t, "paris"), token); out.Code != "token-used" {
		t.Errorf("the same name with another key: %+v", out)
	}
	// A removed target does not come back by the token that it once joined with.
	c.api.change(targetsPath+"/paris", nil)
	if out := c.join(s, token); out.Code != "token-used" || c.api.get(targetsPath+"/paris") != nil {
		t.Errorf("after the target was removed: %+v", out)
	}
}

// A write by somebody else to the token's Secret or to the SyncTarget does not spoil a join.
func TestJoinMeetsOtherWriters(t *testing.T) {
	c := newCenter(t)
	c.api.change(
		targetsPath+"/paris",
		map[string]any{
			"metadata": map[string]any{"name": "paris", "uid": "u", "labels": map[string]any{"by": "admin"}},
		},
	)
	token, s := c.token(nil, time.Hour), newSite(t, "paris")
	met := map[string]bool{}
	c.api.meddle = func(r *http.Request, path string) int {
		if obj := c.api.objects[path]; r.Method == http.MethodPatch && obj != nil && !met[path] {
			met[path] = true
			c.api.put(
				path,
				merged(obj, map[string]any{"metadata": map[string]any{"annotations": map[string]any{"seen": "yes"}}}),
			)
		}
		return 0
	}
	if out := c.join(s, token); out.status != http.StatusOK || len(met) != 2 {
		t.Errorf("join: %+v after %v", out, met)
	}
}

func TestLabelsOfATarget(t *testing.T) {
	c := newCenter(t)
	s := newSite(t, "paris")
	s.labels = map[string]string{
		"region":            "site",
		"tier":              "site",
		"skerry.dev/target": "evil",
		"skerry.dev":        "evil",
		"x.skerry.dev/a":    "evil",
		"notskerry.dev/a":   "mine",
	}
	if out := c.join(s, c.token(map[string]string{"region": "token", "skerry.dev/zone": "token"},
		time.Hour)); out.status != http.StatusOK {
		t.Fatalf("join: %+v", out)
	}
	labels := func() map[string]string {
		return (&unstructured.Unstructured{Object: c.api.get(targetsPath + "/paris")}).GetLabels()
	}
	want := map[string]string{"region": "token", "tier": "site", "skerry.dev/zone": "token", "notskerry.dev/a": "mine"}
	if got := labels(); !maps.Equal(got, want) {
		t.Errorf("labels %v, want %v", got, want)
	}
	// Whoever joins again changes none that are there; the token does.
	c.api.change(
		targetsPath+"/paris",
		map[string]any{"metadata": map[string]any{"labels": map[string]any{"tier": "admin"}}},
	)
	s.labels = map[string]string{"tier": "site", "new": "site"}
	if out := c.join(s, c.token(map[string]string{"region": "token-2"}, time.Hour)); out.status != http.StatusOK {
		t.Fatalf("join again: %+v", out)
	}
	want["region"], want["tier"], want["new"] = "token-2", "admin", "site"
	if got := labels(); !maps.Equal(got, want) {
		t.Errorf("labels after joining again %v, want %v", got, want)
	}
	s = newSite(t, "rome")
	s.labels = map[string]string{"a": "not valid"}
	if out := c.join(s, c.token(nil, time.Hour)); out.Code != "labels" {
		t.Errorf("with an invalid label: %+v", out)
	}
}

// A name that has been joined is nobody else's until an admin lets it go.
func TestNameIsTakenOverOnlyIfLetGo(t *testing.T) {
	c := newCenter(t)
	c.joined("paris")
	token, other := c.token(nil, time.Hour), newSite(t, "paris")
	if out := c.join(other, token); out.Code != "name-in-use" {
		t.Fatalf("another site of the name: %+v", out)
	}
	c.api.change(
		targetsPath+"/paris",
		map[string]any{"metadata": map[string]any{"annotations": map[string]any{v1alpha1.AnnotationKey: nil}}},
	)
	if out := c.join(other, token); out.status != http.StatusOK {
		t.Errorf("after it was let go: %+v", out)
	}
}

// No site may be named as the admin's space is, or as the API that follows it in the URL of a view.
// Who tries is told why, and the token is still good for another name.
func TestNamesThatNoSiteHas(t *testing.T) {
	for name, why := range map[string]string{
		v1alpha1.RootSpace: "space of the center's admin",
		"api":              "Kubernetes' API", "apis": "/apis", "openapi": "/openapi", "version": "/version",
	} {
		t.Run(name, func(t *testing.T) {
			c := newCenter(t)
			token, s := c.token(nil, time.Hour), newSite(t, name)
			out := c.join(s, token)
			if out.status != http.StatusUnprocessableEntity || out.Code != "name" || !strings.Contains(out.Message, why) {
				t.Errorf("HTTP %d, %q: %s", out.status, out.Code, out.Message)
			}
			if c.signed.Load() != 0 || c.api.get(targetsPath+"/"+name) != nil {
				t.Error("a certificate was signed for it, or a SyncTarget made")
			}
			s.name = "paris"
			if out := c.join(s, token); out.status != http.StatusOK {
				t.Errorf("with another name and the same token: HTTP %d: %s", out.status, out.Message)
			}
		})
	}
}

// A site that has joined is known when it gets its answer, also when the news of it takes a while.
func TestJoinWaitsUntilTheDoorKnows(t *testing.T) {
	c := newCenter(t)
	token := c.token(nil, time.Hour)
	c.api.followers = nil
	late := time.AfterFunc(200*time.Millisecond, func() { c.api.follow(c.sessions) })
	defer late.Stop()
	if out := c.join(newSite(t, "paris"), token); out.status != http.StatusOK {
		t.Fatalf("join: %+v", out)
	}
	if _, ok := c.sessions.targets.get("paris"); !ok {
		t.Error("a site that dials now would be refused")
	}
}
