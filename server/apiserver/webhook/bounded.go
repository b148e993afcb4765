package webhook

import (
	"fmt"
	"io"
	"net/http"
)

// minAnswer is what an answer may take beyond twice the request: more than a patch of the largest
// object that can be stored.
const minAnswer = 3 << 20

// bounded bounds answers, which upstream reads whole.
type bounded struct{ next http.RoundTripper }

// WrappedRoundTripper lets upstream find the transport.
func (b bounded) WrappedRoundTripper() http.RoundTripper { return b.next }

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := b.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	most := minAnswer + 2*max(0, req.ContentLength)
	if resp.ContentLength > most {
		resp.Body.Close()
		return nil, errTooLarge(most)
	}
	resp.Body = &boundedBody{resp.Body, most, most}
	return resp, nil
}

type boundedBody struct {
	io.ReadCloser
	left, most int64
}

// Read implements io.Reader.
func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, errTooLarge(b.most)
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left+1)])
	if b.left -= int64(n); b.left < 0 {
		return 0, errTooLarge(b.most)
	}
	return n, err
}

func errTooLarge(most int64) error {
	return fmt.Errorf("the webhook's answer is larger than %d KiB", most>>10)
}
