package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

type placesKey struct{}

// WithPlacesOnly says of a request that it changes only where something is placed. Webhooks whose
// sites are away let it pass: else nobody could move what a lost site takes with it, the webhook
// itself least of all.
func WithPlacesOnly(ctx context.Context) context.Context {
	return context.WithValue(ctx, placesKey{}, true)
}

func placesOnly(ctx context.Context) bool {
	only, _ := ctx.Value(placesKey{}).(bool)
	return only
}

// passed returns the answer of an admission webhook that has no objection, and why.
func passed(req *http.Request, why error) (*http.Response, error) {
	var review struct {
		Kind       string `json:"kind"`
		APIVersion string `json:"apiVersion"`
		Request    struct {
			UID string `json:"uid"`
		} `json:"request"`
	}
	body, err := bodyOf(req)
	if err != nil || json.Unmarshal(body, &review) != nil || review.Kind != "AdmissionReview" {
		return nil, why
	}
	answer, err := json.Marshal(map[string]any{
		"kind": review.Kind, "apiVersion": review.APIVersion,
		"response": map[string]any{
			"uid": review.Request.UID, "allowed": true,
			"warnings": []string{fmt.Sprintf(
				"a webhook was not asked, because only the placement changes and its site is away: %.180s",
				why,
			)},
		},
	})
	if err != nil {
		return nil, why
	}
	return made(req, answer), nil
}

// made is an answer in JSON that no webhook has given.
func made(req *http.Request, text []byte) *http.Response {
	return &http.Response{
		StatusCode: http.StatusOK, ProtoMajor: 1, ProtoMinor: 1, Request: req,
		Header:        http.Header{"Content-Type": {"application/json"}},
		ContentLength: int64(len(text)), Body: io.NopCloser(bytes.NewReader(text)),
	}
}

// bodyOf returns the body of a request, which can still be sent.
func bodyOf(req *http.Request) ([]byte, error) {
	if req.GetBody == nil {
		return nil, fmt.Errorf("the request's body cannot be read twice")
	}
	body, err := req.GetBody()
	if err != nil {
		return nil, err
	}
	defer body.Close()
	return io.ReadAll(body)
}
