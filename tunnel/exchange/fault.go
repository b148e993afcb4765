package exchange

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

// Fault is why a request is not carried out, as a Status of Kubernetes says it.
type Fault struct {
	// Code is the HTTP status, 400 at least.
	Code int
	// Reason in CamelCase is one of Kubernetes', such as Forbidden or ServiceUnavailable.
	Reason string
	// Message says what to do, too.
	Message string
	// After is when a client may ask again, in seconds from now; 0 says nothing of it.
	After int
}

// Moving is the reason of a refusal by which a Service answers nowhere because what answers for it is on its way to
// another target. Its callers may wait.
const Moving = "Moving"

// Denied is the reason of a refusal by which NetworkPolicies at the Service's site let no such caller in. A Pod that
// is ready is there.
const Denied = "DeniedByNetworkPolicy"

// IsDenied reports whether an error is such a refusal.
func IsDenied(err error) bool { return reasonOf(err) == Denied }

// IsMoving reports whether an error is a refusal with the reason Moving.
func IsMoving(err error) bool { return reasonOf(err) == Moving }

func reasonOf(err error) string {
	var f *Fault
	if errors.As(err, &f) {
		return f.Reason
	}
	return ""
}

// Error is the message.
func (f *Fault) Error() string { return f.Message }

// FaultOf returns what an error says to a client: itself when it is a Fault, 400 for a request that
// breaks the rules, and 502 for everything else.
func FaultOf(err error) *Fault {
	var f *Fault
	switch {
	case errors.As(err, &f):
		return f
	case errors.Is(err, ErrRequest):
		return &Fault{Code: http.StatusBadRequest, Reason: "BadRequest", Message: err.Error()}
	}
	return &Fault{Code: http.StatusBadGateway, Reason: "InternalError", Message: err.Error()}
}

// Response returns the Fault as an answer.
func (f *Fault) Response() *http.Response {
	body, _ := json.Marshal(
		map[string]any{"kind": "Status", "apiVersion": "v1", "metadata": struct{}{},
			"status": "Failure", "message": f.Message, "reason": f.Reason, "code": f.Code},
	) // strings cannot fail
	resp := answerOf(f.Code, body)
	if f.After > 0 {
		resp.Header.Set("Retry-After", f.RetryAfter())
	}
	return resp
}

// answerOf is an answer in JSON.
func answerOf(code int, body []byte) *http.Response {
	return &http.Response{
		StatusCode:    code,
		ContentLength: int64(len(body)),
		Header: http.Header{
			"Content-Type":   {"application/json"},
			"Content-Length": {strconv.Itoa(len(body))},
		},
		Body: io.NopCloser(bytes.NewReader(body)),
	}
}

// Connection returns the connection that an answer has become. It closes any other answer, and returns what that
// refuses, a *Fault.
func Connection(resp *http.Response) (io.ReadWriteCloser, error) {
	conn, upgraded := resp.Body.(io.ReadWriteCloser)
	if resp.StatusCode == http.StatusSwitchingProtocols && upgraded {
		return conn, nil
	}
	defer resp.Body.Close()
	return nil, Refusal(resp)
}

// Refusal reads why a request was not carried out: the message of a Status, where the answer has one.
func Refusal(resp *http.Response) *Fault {
	text, _ := io.ReadAll(io.LimitReader(resp.Body, maxRefusal))
	var said struct{ Message, Reason string }
	if json.Unmarshal(text, &said) != nil || said.Message == "" {
		said.Message = fmt.Sprintf("it answers %d", resp.StatusCode)
	}
	return &Fault{Code: resp.StatusCode, Reason: said.Reason, Message: said.Message}
}

// maxRefusal bounds what is read of a refusal.
const maxRefusal = 64 << 10

// RetryAfter is the value of the header Retry-After: a date. Of a number of seconds kubectl would
// wait for it ten times over before it shows why.
func (f *Fault) RetryAfter() string {
	return time.Now().Add(time.Duration(f.After) * time.Second).UTC().Format(http.TimeFormat)
}
