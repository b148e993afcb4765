package sessions

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

func TestTokens(t *testing.T) {
	c := newCenter(t)
	late := c.token(map[string]string{"site": "b"}, 2*time.Hour)
	early := c.token(map[string]string{"site": "a", "skerry.dev/zone": "x"}, time.Hour)
	for _, token := range []string{early.Secret, late.Secret} {
		for path, obj := range c.api.objects {
			for field, v := range obj["data"].(map[string]any) {
				if strings.Contains(v.(string), token) {
					t.Errorf("%s of %s holds the secret", field, path)
				}
			}
		}
	}
	if c.join(newSite(t, "paris"), early).status != 200 {
		t.Fatal("join refused")
	}
	// What others keep under the type of tokens is none of ours, and what cannot be read hides
	// nothing.
	c.api.change(secretsPath+"/x", map[string]any{"metadata": map[string]any{"name": "x"}, "type": string(tokenType)})
	list, err := ListTokens(t.Context(), c.root())
	must(t, err)
	if len(
		list,
	) != 2 || list[0].ID != early.ID || list[1].ID != late.ID || !slices.Equal(list[0].UsedBy, []string{"paris"}) || list[1].UsedBy != nil ||
		!list[0].Spent() || list[1].Spent() ||
		!maps.Equal(list[0].Labels, map[string]string{"site": "a", "skerry.dev/zone": "x"}) ||
		time.Until(list[0].Expires).Round(time.Minute) != time.Hour {
		t.Errorf("tokens: %+v", list)
	}
	c.api.change(
		secretsPath+"/"+tokenPrefix+"bad",
		map[string]any{"metadata": map[string]any{"name": tokenPrefix + "bad"}, "type": string(tokenType)},
	)
	if list, err = ListTokens(t.Context(), c.root()); err == nil || len(list) != 2 ||
		!strings.Contains(err.Error(), "token bad") {
		t.Errorf("with a broken token: %v, %v", list, err)
	}
	must(t, RevokeToken(t.Context(), c.root(), late.ID, false))
	if err := RevokeToken(t.Context(), c.root(), late.ID, false); !errors.Is(err, ErrTokenNotFound) {
		t.Errorf("revoked twice: %v", err)
	}
	if out := c.join(newSite(t, "rome"), late); out.Code != "token-unknown" {
		t.Errorf("join with a revoked token: %+v", out)
	}
}

func TestTokensThatAreNotMade(t *testing.T) {
	c := newCenter(t)
	for name, o := range map[string]TokenOptions{
		"no time": {}, "bad label key": {TTL: time.Hour, Labels: map[string]string{"a b": ""}}, "bad label": {
			TTL:    time.Hour,
			Labels: map[string]string{"a": "b c"},
		},
		"fewer than one": {TTL: time.Hour, Uses: -1},
		"too many":       {TTL: time.Hour, Uses: MaxTokenUses + 1},
	} {
		if text, err := CreateToken(t.Context(), c.root(), o); err == nil {
			t.Errorf("%s: made %s", name, text)
		}
	}
	if text, err := CreateToken(t.Context(), &rest.Config{Host: c.config.Host}, TokenOptions{TTL: time.Hour}); err == nil {
		t.Errorf("without a CA to pin: made %s", text)
	}
	if len(c.api.objects) != 0 {
		t.Errorf("left: %v", c.api.objects)
	}
}
