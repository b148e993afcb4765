package enroll

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"regexp"
	"time"
)

// Path is the HTTP route of enrolment at the center.
const Path = "/enroll/v1"

// Limits of a request, checked before anything is decoded.
const (
	maxRequestBytes = 16 << 10
	maxLabels       = 32
	maxAnswerBytes  = 64 << 10
)

// request is the body of a join.
type request struct {
	TokenID string            `json:"tokenID"`
	Secret  string            `json:"secret"`
	Name    string            `json:"name"`
	Labels  map[string]string `json:"labels,omitempty"`
	CSR     []byte            `json:"csr"`
}

// answer is the body of the center's answer.
type answer struct {
	Code    string `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
	Chain   []byte `json:"chain,omitempty"`
	Bundle  []byte `json:"bundle,omitempty"`
}

// JoinRequest is what a site asks for with a token.
type JoinRequest struct {
	TokenID    string
	SecretHash string
	Name       string
	Labels     map[string]string
	CSR        []byte
}

// HandlerConfig is what the parent's half needs.
type HandlerConfig struct {
	// Redeem uses the token up for this site, makes its SyncTarget and returns the signed
	// certificate (PEM). It returns ErrTokenUnknown, ErrTokenUsed, ErrTokenExpired, ErrName,
	// ErrNameInUse or ErrLabels (wrapped) when it refuses; other errors are the center's own.
	Redeem func(ctx context.Context, r JoinRequest) (chainPEM []byte, err error)
	// Bundle is the PEM of the authorities that the site is to trust from now on.
	Bundle func() []byte
	// Knocked is called for a site that joined another center, or this one before it lost its data.
	// It may be nil. Anybody may claim any name.
	Knocked func(name, from string)
	Log     *slog.Logger
}

var name = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

// Handler serves enrolment. It stands before authentication: the token is the proof. Joins are
// limited before their body is read.
func Handler(cfg HandlerConfig) http.Handler {
	limit := newLimiter()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if cfg.knocked(r, limit) {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		if r.Method != http.MethodPost {
			w.Header().Set("Allow", http.MethodPost)
			http.Error(w, "POST only", http.StatusMethodNotAllowed)
			return
		}
		if !limit.admits(r) {
			busy(w)
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), 30*time.Second)
		defer cancel()
		chain, status, err := join(ctx, cfg, http.MaxBytesReader(w, r.Body, maxRequestBytes))
		out := answer{Chain: chain, Bundle: cfg.Bundle()}
		if err != nil {
			out = answer{Code: codeOf(err), Message: err.Error()}
			if status == http.StatusInternalServerError {
				cfg.Log.Error("enrolment failed", "err", err)
				out.Message = "the center could not do it; its log says why"
			} else {
				cfg.Log.Warn("enrolment refused", "from", r.RemoteAddr, "err", err)
			}
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		if err := json.NewEncoder(w).Encode(out); err != nil {
			cfg.Log.Debug("enrolment: the answer was not read", "err", err)
		}
	})
}

func join(ctx context.Context, cfg HandlerConfig, body io.Reader) (chain []byte, status int, err error) {
	var req request
	d := json.NewDecoder(body)
	d.DisallowUnknownFields()
	if err := d.Decode(&req); err != nil {
		return nil, http.StatusBadRequest, err
	}
	if !name.MatchString(req.Name) {
		return nil, http.StatusUnprocessableEntity, ErrName
	}
	if len(req.Labels) > maxLabels {
		return nil, http.StatusUnprocessableEntity, fmt.Errorf(
			"%w: %d of them, at most %d",
			ErrLabels,
			len(req.Labels),
			maxLabels,
		)
	}
	if !isHex(req.TokenID, 4) || !isHex(req.Secret, 16) {
		return nil, http.StatusForbidden, ErrTokenUnknown
	}
	chain, err = cfg.Redeem(
		ctx,
		JoinRequest{
			TokenID:    req.TokenID,
			SecretHash: HashSecret(req.Secret),
			Name:       req.Name,
			Labels:     req.Labels,
			CSR:        req.CSR,
		},
	)
	switch {
	case err == nil:
		return chain, http.StatusOK, nil
	case errors.Is(err, ErrName) || errors.Is(err, ErrLabels):
		return nil, http.StatusUnprocessableEntity, err
	case codeOf(err) != "":
		return nil, http.StatusForbidden, err
	default:
		return nil, http.StatusInternalServerError, err
	}
}
