package enroll

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A flood from one address costs others nothing, is turned away before its body is read, and ends
// with itself; a flood from everywhere is bounded.
func TestJoinsAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		redeemed := 0
		h := Handler(HandlerConfig{Bundle: func() []byte { return nil }, Log: slog.New(slog.DiscardHandler),
			Redeem: func(context.Context, JoinRequest) ([]byte, error) { redeemed++; return nil, ErrTokenUnknown }})
		token := NewToken(strings.Repeat("ab", 32))
		post := func(from string) int {
			body := &unread{
				strings.NewReader(fmt.Sprintf(`{"tokenID":%q,"secret":%q,"name":"a"}`, token.ID, token.Secret)),
				false,
			}
			r := httptest.NewRequest(http.MethodPost, Path, body)
			r.RemoteAddr = from
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code == http.StatusTooManyRequests && (body.read || w.Header().Get("Retry-After") == "") {
				t.Error("it was read before it was turned away, or not told when to come back")
			}
			return w.Code
		}
		for range 1000 {
			post("192.0.2.1:1000")
			post("[2001:db8::1]:1000")
		}
		if redeemed != 2*burstOfOne {
			t.Errorf("%d joins of two addresses at once, want %d", redeemed, 2*burstOfOne)
		}
		if code := post("192.0.2.2:1"); code != http.StatusForbidden {
			t.Errorf("another address: HTTP %d", code)
		}
		if code := post("[2001:db8::2]:1"); code != http.StatusTooManyRequests {
			t.Errorf("another address of the same host: HTTP %d", code)
		}
		time.Sleep(time.Second)
		if code := post("192.0.2.1:1"); code != http.StatusForbidden {
			t.Errorf("a second later: HTTP %d", code)
		}
		time.Sleep(time.Minute)
		redeemed = 0
		for i := range 3 * maxAddresses {
			post(fmt.Sprintf("10.%d.%d.%d:1", i>>16, i>>8&255, i&255))
		}
		if redeemed != burstOfAll {
			t.Errorf("%d joins from everywhere at once, want %d", redeemed, burstOfAll)
		}
	})
}

type unread struct {
	*strings.Reader
	read bool
}

func (u *unread) Read(p []byte) (int, error) {
	u.read = true
	return u.Reader.Read(p)
}

// FuzzJoin: whatever is posted, only a well-formed request reaches the token.
func FuzzJoin(f *testing.F) {
	token := NewToken(strings.Repeat("ab", 32))
	f.Add(
		[]byte(
			fmt.Sprintf(
				`{"tokenID":%q,"secret":%q,"name":"a","csr":"AA==","labels":{"a":"b"}}`,
				token.ID,
				token.Secret,
			),
		),
	)
	f.Add([]byte(`{"tokenID":null}`))
	f.Add([]byte(`[`))
	f.Fuzz(func(t *testing.T, body []byte) {
		got := 0
		cfg := HandlerConfig{Redeem: func(_ context.Context, r JoinRequest) ([]byte, error) {
			got++
			if !name.MatchString(r.Name) || !isHex(r.TokenID, 4) || !isHex(r.SecretHash, 32) ||
				len(r.Labels) > maxLabels ||
				len(r.CSR) > maxRequestBytes {
				t.Errorf("redeemed %+v", r)
			}
			return []byte("chain"), nil
		}}
		out, status, err := join(t.Context(), cfg, strings.NewReader(string(body)), Behind{})
		if (err == nil) != (status == http.StatusOK) || (len(out.Chain) > 0) != (got == 1) {
			t.Errorf("HTTP %d, %v, redeemed %d times", status, err, got)
		}
	})
}
