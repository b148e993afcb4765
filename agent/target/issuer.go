package target

import (
	"context"
	"net/http"
)

// issuerPath is where an API server says who issues the tokens of its ServiceAccounts.
const issuerPath = "/.well-known/openid-configuration"

// Issuer is who issues the tokens of the cluster's ServiceAccounts. An API server takes it for its
// own audience, unless it was told others.
func (c *Client) Issuer(ctx context.Context) (string, error) {
	var said struct {
		Issuer string `json:"issuer"`
	}
	_, err := c.call(ctx, http.MethodGet, issuerPath, nil, "", nil, &said)
	return said.Issuer, err
}
