package enroll

import (
	"context"
	"crypto/tls"
	"net/http"
	"net/url"
)

// knockParameter carries the name of a site that knocks.
const knockParameter = "knock"

// knock tells a center that this site did not join which site is here. A center that has lost its
// data does not know who its sites were. Nothing is sent but the name, which is no secret, and no
// answer is read.
func (c *Credentials) knock(ctx context.Context, endpoint string) {
	// Whoever it is learns a name and nothing else: there is no authority to check it by.
	client, done := clientFor(nil, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS13})
	defer done()
	req, err := http.NewRequestWithContext(
		ctx,
		http.MethodGet,
		endpoint+"?"+url.Values{knockParameter: {c.name}}.Encode(),
		nil,
	)
	if err != nil {
		return
	}
	if res, err := client.Do(req); err == nil {
		res.Body.Close()
	}
}

// knocked passes on a knock. It reports whether the request is one.
func (cfg HandlerConfig) knocked(r *http.Request, limit *limiter) bool {
	who := r.URL.Query().Get(knockParameter)
	if r.Method != http.MethodGet || who == "" {
		return false
	}
	if cfg.Knocked != nil && name.MatchString(who) && limit.admits(r) {
		cfg.Knocked(who, r.RemoteAddr)
	}
	return true
}
