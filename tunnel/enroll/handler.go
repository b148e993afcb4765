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

	"skerry.dev/skerry/store"
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
	// Examine asks what would happen, without a secret whether the site is known still.
	Examine bool `json:"examine,omitempty"`
}

// answer is the body of the center's answer.
type answer struct {
	Code    string `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
	Chain   []byte `json:"chain,omitempty"`
	Bundle  []byte `json:"bundle,omitempty"`
	// Version of the center, for those who were examined and may come in.
	Version string `json:"version,omitempty"`
}

// JoinRequest is what a site asks for with a token.
type JoinRequest struct {
	// TokenID is empty in an examination of a site that has joined.
	TokenID    string
	SecretHash string
	Name       string
	Labels     map[string]string
	CSR        []byte
	// Behind is what the site says is behind it.
	Behind Behind
}

// Behind says what is behind a site, as tunnel.Hello does. So a center refuses before the token is used
// up what it would refuse in a session.
type Behind struct {
	// Cluster is the UID of the Namespace kube-system, empty if that is unknown.
	Cluster string
	// Force admits the site though its cluster is known under another name.
	Force bool
	// Center is the incarnation of a relay's own data; zero for a site.
	Center store.Incarnation
}

// The headers of Behind. Centers that do not know them let the site join, and refuse its session.
const (
	clusterHeader = "Skerry-Cluster"
	forceHeader   = "Skerry-Force"
	centerHeader  = "Skerry-Center"
)

func (b Behind) write(h http.Header) {
	if b.Cluster != "" {
		h.Set(clusterHeader, b.Cluster)
	}
	if b.Force {
		h.Set(forceHeader, "true")
	}
	if !b.Center.IsZero() {
		h.Set(centerHeader, b.Center.String())
	}
}

// behindOf reads the headers. A center that cannot be read is none.
func behindOf(h http.Header) Behind {
	b := Behind{Cluster: h.Get(clusterHeader), Force: h.Get(forceHeader) == "true"}
	if err := b.Center.UnmarshalText([]byte(h.Get(centerHeader))); err != nil {
		b.Center = store.Incarnation{}
	}
	return b
}

// HandlerConfig is what the parent's half needs.
type HandlerConfig struct {
	// Redeem uses the token up for this site, makes its SyncTarget and returns the signed
	// certificate (PEM). It returns ErrTokenUnknown, ErrTokenUsed, ErrTokenExpired, ErrName,
	// ErrNameInUse, ErrLabels or ErrNotHere (wrapped) when it refuses; other errors are the center's
	// own.
	Redeem func(ctx context.Context, r JoinRequest) (chainPEM []byte, err error)
	// Examine returns what Redeem would of a site that does not say what is behind it, and changes
	// nothing. It costs what a refused join costs, and tells whoever has no token, and not the key of
	// a site, nothing. Without a token it returns ErrRevoked or ErrUnknownSite for a site that is not
	// let in. Nil refuses all.
	Examine func(ctx context.Context, r JoinRequest) error
	// Version of the center.
	Version string
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
			http.Error(w, postOnly, http.StatusMethodNotAllowed)
			return
		}
		if !limit.admits(r) {
			busy(w)
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), 30*time.Second)
		defer cancel()
		out, status, err := join(ctx, cfg, http.MaxBytesReader(w, r.Body, maxRequestBytes), behindOf(r.Header))
		if out.Chain != nil {
			out.Bundle = cfg.Bundle()
		}
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

func join(ctx context.Context, cfg HandlerConfig, body io.Reader, behind Behind) (out answer, status int, err error) {
	var req request
	d := json.NewDecoder(body)
	d.DisallowUnknownFields()
	if err := d.Decode(&req); err != nil {
		return out, http.StatusBadRequest, err
	}
	if !name.MatchString(req.Name) {
		return out, http.StatusUnprocessableEntity, ErrName
	}
	if len(req.Labels) > maxLabels {
		return out, http.StatusUnprocessableEntity, fmt.Errorf(
			"%w: %d of them, at most %d",
			ErrLabels,
			len(req.Labels),
			maxLabels,
		)
	}
	joined := req.Examine && req.TokenID == "" && req.Secret == ""
	if !joined && (!isHex(req.TokenID, 4) || !isHex(req.Secret, 16)) {
		return out, http.StatusForbidden, ErrTokenUnknown
	}
	r := JoinRequest{
		TokenID:    req.TokenID,
		SecretHash: HashSecret(req.Secret),
		Name:       req.Name,
		Labels:     req.Labels,
		CSR:        req.CSR,
		Behind:     behind,
	}
	switch {
	case !req.Examine:
		out.Chain, err = cfg.Redeem(ctx, r)
	case cfg.Examine == nil:
		err = errors.ErrUnsupported
	default:
		err = cfg.Examine(ctx, r)
		out.Version = cfg.Version
	}
	return out, statusOf(err), err
}

// statusOf returns the HTTP status of an answer to a join.
func statusOf(err error) int {
	switch {
	case err == nil:
		return http.StatusOK
	case errors.Is(err, ErrName) || errors.Is(err, ErrLabels):
		return http.StatusUnprocessableEntity
	case codeOf(err) != "":
		return http.StatusForbidden
	default:
		return http.StatusInternalServerError
	}
}
