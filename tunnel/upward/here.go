package upward

import (
	"errors"
	"net/http"
	"strings"

	"skerry.dev/skerry/tunnel/exchange"
)

// headerHere lists, in the answer to a call, what answers at the very site that calls: SPACE/NAMESPACE/NAME/UID each,
// separated by commas.
const headerHere = "Skerry-Here"

// Here is a Service at the site that calls which answers for the one that is called.
type Here struct{ Space, Namespace, Service, UID string }

// mostHere is how many a site is told of.
const mostHere = 16

// LeadHere has an answer say what answers at the site itself, and nothing else of that.
func LeadHere(h http.Header, all []Here) {
	h.Del(headerHere)
	var words []string
	for _, is := range all[:min(len(all), mostHere)] {
		words = append(words, is.Space+"/"+is.Namespace+"/"+is.Service+"/"+is.UID)
	}
	if len(words) > 0 {
		h.Set(headerHere, strings.Join(words, ","))
	}
}

// ReadHere reads what LeadHere has said. What is not understood is left out.
func ReadHere(h http.Header) (all []Here) {
	text := h.Get(headerHere)
	if text == "" {
		return nil
	}
	for word := range strings.SplitSeq(text, ",") {
		parts := strings.Split(word, "/")
		if len(parts) != 4 || !uidForm.MatchString(parts[3]) || len(all) >= mostHere {
			continue
		}
		if nameForm.MatchString(parts[0]) && nameForm.MatchString(parts[1]) && nameForm.MatchString(parts[2]) {
			all = append(all, Here{parts[0], parts[1], parts[2], parts[3]})
		}
	}
	return all
}

// ErrAway is wrapped by the error of a call that the parent has not heard, or not answered.
var ErrAway = errors.New("the parent does not answer")

// awayFault is a Fault that wraps ErrAway.
type awayFault struct{ fault *exchange.Fault }

// Error implements error.
func (e awayFault) Error() string { return e.fault.Error() }

// Unwrap returns the Fault, and ErrAway.
func (e awayFault) Unwrap() []error { return []error{e.fault, ErrAway} }
