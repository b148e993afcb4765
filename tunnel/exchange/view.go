package exchange

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The options of the verb view. A request has either OptionDocument or OptionResource.
const (
	// OptionDocument asks for a document about the site's API, one of documents. OptionGroup and
	// OptionVersion narrow it to an API group.
	OptionDocument = "document"
	// OptionGroup is empty for the core group, OptionVersion as "v1", OptionResource the plural.
	OptionGroup    = "group"
	OptionVersion  = "version"
	OptionResource = "resource"
	// OptionName is one object; without it all are listed, or watched.
	OptionName  = "name"
	OptionWatch = "watch"
	// OptionAmong are the only namespaces that a list of all may have; without it the receiver's own
	// record decides alone. A relay sets it to those that it got from its parent.
	OptionAmong = "among"
	// OptionLimit is how many bytes the answer may have. A list is cut behind one of its objects, and
	// says so by a warning; a watch ends with an event that says so; all else is refused.
	OptionLimit = "limitBytes"
	// OptionAbout asks for the Events about one object, as KIND/NAME: a list of tunnel/events in the
	// object's namespace. UID is the object's at the receiver, Origin that at the sender of what was
	// itself placed; neither is there where the sender does not know them.
	OptionAbout = "about"
	// OptionForm is the form of the answer where that is not plain: FormTable or FormAggregated.
	OptionForm = "form"
)

// The forms of an answer beside objects.
const (
	// FormTable are rows as kubectl prints them.
	FormTable = "table"
	// FormAggregated is a document with all API groups.
	FormAggregated = "aggregated"
)

// documents are those of OptionDocument, with those that an API group has of its own.
var documents = map[string]bool{
	"api": true, "apis": true, "openapi/v2": false, "openapi/v3": true, "version": false,
}

// IsAPIRoot reports whether the paths of a site's API begin with a segment. No target may have such a
// name: in a path of targets with what follows in the API of the last one, it would be taken for
// that.
func IsAPIRoot(segment string) bool {
	switch segment {
	case "api", "apis", "openapi", "version":
		return true
	}
	return false
}

// ListOptions are the options of a list and a watch that pass as the client has given them.
var ListOptions = []string{
	"labelSelector", "fieldSelector", "limit", "continue", "resourceVersion",
	"resourceVersionMatch", "timeoutSeconds", "allowWatchBookmarks", "sendInitialEvents",
	"includeObject",
}

// maxOption is how long a selector or a token of a list may be.
const maxOption = 8 << 10

var (
	versionForm = regexp.MustCompile(`^v[0-9][a-z0-9]{0,30}$`)
	numberForm  = regexp.MustCompile(`^[0-9]{1,32}$`)
	aboutForm   = regexp.MustCompile(`^[A-Z][A-Za-z0-9]{0,62}/[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$`)
	segmentForm = regexp.MustCompile(`^[A-Za-z0-9:_.@+=~-]{1,253}$`)
)

// segment is the name of an object: more than a label where a kind has more.
func segment(s string) bool { return segmentForm.MatchString(s) && s != "." && s != ".." }

func bounded(s string) bool {
	return len(s) <= maxOption &&
		!strings.ContainsFunc(s, func(c rune) bool { return c < ' ' || c == 0x7f })
}

func oneOf(values ...string) option {
	return func(s string) bool { return slices.Contains(values, s) }
}

// viewing are the options of a view.
var viewing = map[string]option{
	OptionDocument:    func(s string) bool { _, known := documents[s]; return known },
	OptionGroup:       isName,
	OptionVersion:     versionForm.MatchString,
	OptionResource:    labelForm.MatchString,
	OptionName:        segment,
	OptionWatch:       boolean,
	OptionAmong:       labelForm.MatchString,
	OptionForm:        oneOf(FormTable, FormAggregated),
	OptionLimit:       natural,
	OptionAbout:       aboutForm.MatchString,
	"labelSelector":   bounded,
	"fieldSelector":   bounded,
	"continue":        bounded,
	"limit":           natural,
	"timeoutSeconds":  natural,
	"resourceVersion": numberForm.MatchString,
	"resourceVersionMatch": oneOf(
		"Exact",
		"NotOlderThan",
	),
	"includeObject":       oneOf("None", "Metadata", "Object"),
	"allowWatchBookmarks": boolean,
	"sendInitialEvents":   boolean,
}

// answersAtOnce reports whether the answer has an end, and is there as a whole.
func (r *Request) answersAtOnce() bool {
	follow, _ := strconv.ParseBool(r.Query.Get("follow"))
	return r.Verb == View && !r.Watches() || r.Verb == Log && !follow
}

// Watches reports whether the request is for a watch.
func (r *Request) Watches() bool {
	watch, err := strconv.ParseBool(r.Query.Get(OptionWatch))
	return r.Verb == View && err == nil && watch
}

// Limit returns how many bytes the answer to a view may have; limited is false for no limit.
func (r *Request) Limit() (bytes int64, limited bool) {
	bytes, err := strconv.ParseInt(r.Query.Get(OptionLimit), 10, 64)
	return bytes, r.Verb == View && err == nil
}

// checkView checks what a view is of, when its options were checked.
func (r *Request) checkView() error {
	q := r.Query
	wrong := func(format string, args ...any) error {
		return fmt.Errorf("%w: a view %s", ErrRequest, fmt.Sprintf(format, args...))
	}
	switch {
	case r.Namespace != "" && !labelForm.MatchString(r.Namespace):
		return wrong("of namespace %.80q", r.Namespace)
	case r.Pod != "", !q.Has(OptionAbout) && r.UID+r.Origin != "":
		return wrong("of a Pod")
	case q.Has(OptionAbout):
		return r.checkAbout(wrong)
	case q.Has(OptionDocument) == q.Has(OptionResource):
		return wrong("of neither a document nor a resource, or of both")
	case q.Has(OptionDocument):
		return r.checkDocument(wrong)
	case !q.Has(OptionVersion):
		return wrong("of %s without a version", q.Get(OptionResource))
	case q.Get(OptionForm) == FormAggregated:
		return wrong("of a resource in the form of a document")
	case q.Has(OptionAmong) && r.Namespace != "":
		return wrong("of namespace %s among others", r.Namespace)
	case q.Has(OptionName):
		return only(
			q,
			wrong,
			OptionGroup,
			OptionVersion,
			OptionResource,
			OptionName,
			OptionForm,
			OptionLimit,
			"resourceVersion",
			"includeObject",
		)
	}
	return nil
}

// checkAbout checks a view of the Events about one object.
func (r *Request) checkAbout(wrong func(string, ...any) error) error {
	q := r.Query
	switch {
	case r.Namespace == "" || q.Has(OptionGroup) || q.Get(OptionVersion) != "v1" || q.Get(OptionResource) != "events":
		return wrong("about an object that is not of events in its namespace")
	case r.UID != "" && r.Origin != "" || r.UID+r.Origin != "" && !uidForm.MatchString(r.UID+r.Origin):
		return wrong("about an object with UID %.80q and origin %.80q", r.UID, r.Origin)
	}
	return only(q, wrong, OptionVersion, OptionResource, OptionAbout, OptionLimit)
}

func (r *Request) checkDocument(wrong func(string, ...any) error) error {
	q, what := r.Query, r.Query.Get(OptionDocument)
	switch {
	case r.Namespace != "":
		return wrong("of /%s in a namespace", what)
	case q.Get(OptionForm) == FormTable:
		return wrong("of /%s as a table", what)
	case !documents[what] && (q.Has(OptionGroup) || q.Has(OptionVersion)):
		return wrong("of /%s of a group", what)
	case what == "api" && q.Has(OptionGroup),
		what != "api" && q.Has(OptionVersion) && !q.Has(OptionGroup) && what != "openapi/v3":
		return wrong("of /%s with a group and a version that do not go together", what)
	}
	return only(q, wrong, OptionDocument, OptionGroup, OptionVersion, OptionForm, OptionLimit)
}

// only refuses options beside those that are named.
func only(q url.Values, wrong func(string, ...any) error, names ...string) error {
	for name := range q {
		if !slices.Contains(names, name) {
			return wrong("does not take %q there", name)
		}
	}
	return nil
}

// CheckTarget returns an error that wraps ErrRequest for what cannot be the name of a target.
func CheckTarget(name string) error {
	if !isName(name) || IsAPIRoot(name) {
		return fmt.Errorf("%w: target %.80q", ErrRequest, name)
	}
	return nil
}
