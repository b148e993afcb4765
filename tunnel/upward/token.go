package upward

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"skerry.dev/skerry/tunnel/exchange"
)

// headerAsk tells a request of the tiers themselves from those of pods.
const headerAsk = "Skerry-Ask"

// askToken is the value of headerAsk for a token.
const askToken = "token"

// maxMessage bounds a request for a token and its answer, in bytes.
const maxMessage = 64 << 10

// TokenRequest asks for a token of a ServiceAccount, for the pods of the site that asks.
type TokenRequest struct {
	Namespace string `json:"namespace"`
	Account   string `json:"account"`
}

// Token is the answer.
type Token struct {
	Token   string    `json:"token"`
	Expires time.Time `json:"expires"`
}

// AskToken asks the parent for a token of a space. Site is the path of the site below this tier,
// empty where this is the site. A refusal is an *exchange.Fault.
func AskToken(ctx context.Context, up http.RoundTripper, space, site string, r TokenRequest) (Token, error) {
	body, err := json.Marshal(r)
	if err != nil {
		return Token{}, fmt.Errorf("encode a request for a token: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://parent/", bytes.NewReader(body))
	if err != nil {
		return Token{}, fmt.Errorf("make a request for a token: %w", err)
	}
	req.Header = Request(http.Header{}, space, site)
	req.Header.Set(headerAsk, askToken)
	resp, err := up.RoundTrip(req)
	if err != nil {
		return Token{}, unreachable(theAPI, err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxMessage))
	if err != nil {
		return Token{}, unreachable(theAPI, err)
	}
	if resp.StatusCode != http.StatusOK {
		return Token{}, refusal(resp.StatusCode, answer)
	}
	var t Token
	if err := json.Unmarshal(answer, &t); err != nil || t.Token == "" || t.Expires.IsZero() {
		return Token{}, fmt.Errorf("the parent answers with no token: %w", err)
	}
	return t, nil
}

// refusal reads a Status.
func refusal(code int, body []byte) error {
	var status struct{ Reason, Message string }
	if json.Unmarshal(body, &status) != nil || status.Message == "" {
		status.Reason, status.Message = "InternalError", fmt.Sprintf("the parent answers %d", code)
	}
	return &exchange.Fault{Code: code, Reason: status.Reason, Message: status.Message}
}

// IsTokenRequest reports whether a request that has arrived asks for a token. It removes what says
// so.
func IsTokenRequest(h http.Header) bool {
	ask := h.Get(headerAsk)
	h.Del(headerAsk)
	return ask == askToken
}

// ReadTokenRequest reads a request for a token. The error wraps ErrRequest.
func ReadTokenRequest(body io.Reader) (r TokenRequest, err error) {
	text, err := io.ReadAll(io.LimitReader(body, maxMessage))
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		return r, fmt.Errorf("%w: %w", ErrRequest, err)
	}
	if !nameForm.MatchString(r.Namespace) || !nameForm.MatchString(r.Account) {
		return r, fmt.Errorf("%w: a token of %.80q in %.80q", ErrRequest, r.Account, r.Namespace)
	}
	return r, nil
}

// WriteToken answers a request for a token.
func WriteToken(w http.ResponseWriter, t Token) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(t) // a child that has gone needs no answer
}
