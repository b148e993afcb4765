package exchange

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Limits of what is read of a peer.
const (
	// maxHead is what the head of a request or of an answer may take. A command line is the longest
	// part of it; an API server takes no longer URL by default.
	maxHead = 128 << 10
	// MaxBody is what the body of a request may take: the containers of a debug session.
	MaxBody = 64 << 10
	// MaxChange is what the body of a change may take: all annotations that an object may have, and
	// its labels.
	MaxChange = 384 << 10
	// maxGroups is how many groups of the user go along for the audit line.
	maxGroups = 32
	// maxIdentity is how long a user or a group may be.
	maxIdentity = 1024
	// maxPath is how many tiers there may be.
	maxPath = 16
)

// Request is what a parent asks of a child: one verb on one Pod, or a view.
type Request struct {
	// Space, Namespace and Pod name the Pod as the receiver knows it. A view has no Pod, and no
	// Namespace where it is of all that the space has there.
	Space, Namespace, Pod string
	// SpaceUID is that of the space at the sender. A site has something of the space only while its
	// namespaces carry this UID: a space that was made again does not reach what the one before left.
	// The center sets it when the request leaves.
	SpaceUID string
	// Resource is what Pod names where it is no Pod: Claims, Jobs or ReplicaSets, and Services for Connect and Call.
	Resource string
	// UID is that of the Pod at the receiver, as it was reported; none for a view.
	UID string
	// Origin replaces UID for a Pod that was itself placed: the UID that it has at the sender.
	Origin string
	Verb   Verb
	// Query holds the options of the verb, see [Verb.Options].
	Query url.Values
	// Upgrade are the headers of an upgrade, see [Upgrade]; nil for none.
	Upgrade http.Header
	// Body goes with Debug: a JSON list of ephemeral containers, MaxBody bytes at most. It goes with
	// Change, too: what EncodeChange returns, MaxChange bytes at most.
	Body []byte
	// User and Groups are who asks, for the receiver's audit log alone.
	User   string
	Groups []string
	// Caller goes with Connect to a Service: the Pod that calls, as Caller.Encode has it. Empty says nothing of it.
	Caller string
	// Traced has the places on the way say what they decide: Connect to a Service alone, see HeaderTrace.
	Traced bool
	// Path are the names of the targets to go through below the receiver. With one, a Pod and its UID
	// are those at the last target, and no tier above has to know it. Without one a relay looks the Pod
	// up in its own space.
	Path []string
	// Timeout is how long the sender waits for the answer, 0 without an end.
	Timeout time.Duration
}

// The headers of a request beside those of an upgrade and of the body.
const (
	headerSpace    = "Skerry-Space-Uid"
	headerUID      = "Skerry-Uid"
	headerOrigin   = "Skerry-Origin"
	headerUser     = "Skerry-User"
	headerGroup    = "Skerry-Group"
	headerPath     = "Skerry-Path"
	headerTimeout  = "Skerry-Timeout"
	headerResource = "Skerry-Resource"
	headerCaller   = "Skerry-Caller"
)

// ErrRequest is wrapped by every error about a request that breaks the rules of this package.
var ErrRequest = errors.New("not a request for a Pod")

var (
	labelForm = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)
	nameForm  = regexp.MustCompile(
		`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`,
	)
	uidForm = regexp.MustCompile(`^[A-Za-z0-9-]{1,64}$`)
)

// maxName is how long the name of a Pod or a target may be.
const maxName = 253

func isName(s string) bool { return len(s) <= maxName && nameForm.MatchString(s) }

// Check returns an error that wraps ErrRequest and says which field breaks which rule.
func (r *Request) Check() error {
	switch {
	case !isName(r.Space):
		return fmt.Errorf("%w: space %.80q", ErrRequest, r.Space)
	case r.SpaceUID != "" && !uidForm.MatchString(r.SpaceUID):
		return fmt.Errorf("%w: UID %.80q of the space", ErrRequest, r.SpaceUID)
	case r.Resource != "" && !r.fitsResource(), r.Verb == Call && r.Resource != Services:
		return fmt.Errorf("%w: %s of %.80q", ErrRequest, r.Verb, r.Resource)
	case r.Verb == View: // which checkView checks
	case !labelForm.MatchString(r.Namespace):
		return fmt.Errorf("%w: namespace %.80q", ErrRequest, r.Namespace)
	case !isName(r.Pod):
		return fmt.Errorf("%w: name %.80q", ErrRequest, r.Pod)
	case (r.UID == "") == (r.Origin == "") || !uidForm.MatchString(r.UID+r.Origin):
		return fmt.Errorf("%w: it needs either the Pod's UID or that of its origin", ErrRequest)
	}
	switch {
	case len(r.Body) > r.Verb.maxBody():
		return fmt.Errorf("%w: the body is larger than %d bytes", ErrRequest, r.Verb.maxBody())
	case (len(r.Body) > 0) != r.Verb.hasBody():
		return fmt.Errorf("%w: %s with a body of %d bytes", ErrRequest, r.Verb, len(r.Body))
	case len(r.Path) > maxPath || slices.ContainsFunc(r.Path, func(s string) bool { return !isName(s) }):
		return fmt.Errorf("%w: path %.80q", ErrRequest, strings.Join(r.Path, "/"))
	case len(r.Groups) > maxGroups:
		return fmt.Errorf("%w: more than %d groups", ErrRequest, maxGroups)
	case r.Timeout < 0:
		return fmt.Errorf("%w: a timeout below zero", ErrRequest)
	case (r.Caller != "" || r.Traced) && (r.Resource != Services || r.Verb != Connect):
		return fmt.Errorf("%w: %s with a caller, or traced", ErrRequest, r.Verb)
	}
	if r.Caller != "" {
		if _, err := ReadCaller(r.Caller); err != nil {
			return err
		}
	}
	for _, s := range append([]string{r.User}, r.Groups...) {
		if len(s) > maxIdentity {
			return fmt.Errorf("%w: a user or group of more than %d bytes", ErrRequest, maxIdentity)
		}
	}
	if r.Verb.upgrades() != (r.Upgrade != nil) || (r.Verb == Connect) != isBytes(r.Upgrade) {
		return fmt.Errorf("%w: pods/%s with the wrong kind of connection", ErrRequest, r.Verb)
	}
	if err := r.Verb.Options(r.Query); err != nil {
		return err
	}
	switch {
	case r.Verb == Connect && !r.Query.Has(OptionPort):
		return fmt.Errorf("%w: connect without a port", ErrRequest)
	case r.Verb == View:
		return r.checkView()
	case r.Verb == Change:
		_, err := r.Change()
		return err
	}
	return nil
}

// fitsResource reports whether the verb is one for what the request is about.
func (r *Request) fitsResource() bool {
	if r.Resource == Services {
		return (r.Verb == Connect || r.Verb == Call) && r.Origin != ""
	}
	return born[r.Resource] != nil && r.Verb.ofBorn() && r.Origin == ""
}

// Identify sets User and Groups, cut to what may go along.
func (r *Request) Identify(user string, groups []string) {
	cut := func(s string) string { return s[:min(len(s), maxIdentity)] }
	r.User, r.Groups = cut(user), nil
	for _, g := range groups[:min(len(groups), maxGroups)] {
		r.Groups = append(r.Groups, cut(g))
	}
}

// encode returns the request as it is sent.
func (r *Request) encode() ([]byte, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "POST /%s/%s/%s/%s", r.Space, r.Namespace, r.Pod, r.Verb)
	if len(r.Query) > 0 {
		b.WriteString("?" + r.Query.Encode())
	}
	b.WriteString(" HTTP/1.1\r\nHost: target\r\n")
	set := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%s: %s\r\n", name, value)
		}
	}
	set(headerSpace, r.SpaceUID)
	set(headerUID, r.UID)
	set(headerOrigin, r.Origin)
	set(headerResource, r.Resource)
	set(headerUser, url.QueryEscape(r.User))
	for _, g := range r.Groups {
		set(headerGroup, url.QueryEscape(g))
	}
	set(headerCaller, r.Caller)
	if r.Traced {
		set(HeaderTrace, traceAsk)
	}
	set(headerPath, strings.Join(r.Path, "/"))
	if r.Timeout > 0 {
		set(headerTimeout, strconv.FormatInt(max(1, r.Timeout.Milliseconds()), 10))
	}
	if r.Upgrade != nil {
		allowed, err := Upgrade(r.Upgrade)
		if err != nil {
			return nil, err
		}
		if err := allowed.Write(&b); err != nil {
			return nil, fmt.Errorf("write the head: %w", err)
		}
	}
	set("Content-Length", strconv.Itoa(len(r.Body)))
	b.WriteString("\r\n")
	if b.Len() > maxHead {
		return nil, fmt.Errorf("%w: its options take more than %d bytes", ErrRequest, maxHead)
	}
	b.Write(r.Body)
	return b.Bytes(), nil
}
