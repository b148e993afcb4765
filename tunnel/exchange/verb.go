package exchange

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Verb is what is asked of a Pod, whose subresource it is where there is one, or of a site: View.
type Verb string

// The verbs.
const (
	Log         Verb = "log"
	Exec        Verb = "exec"
	Attach      Verb = "attach"
	PortForward Verb = "portforward"
	// Debug adds ephemeral containers.
	Debug Verb = "ephemeralcontainers"
	// Evict asks for the Pod's deletion within its disruption budgets.
	Evict Verb = "eviction"
	// Delete deletes the Pod itself; what controls it makes another one.
	Delete Verb = "delete"
	// Connect passes bytes to a TCP port of a ready Pod: a webhook is called that way. Of a Service it is
	// a port of the Service's own, and any ready Pod of it.
	Connect Verb = "connect"
	// Change changes labels and annotations of what was born at a site, see [Change].
	Change Verb = "change"
	// View reads what a space has in its namespaces at a site. It is of no Pod.
	View Verb = "view"
	// Call has a site call a Service as a Pod there would, and end the call at once. The answer is a Traced. Path has
	// the targets below the receiver that lead to the site.
	Call Verb = "call"
)

// OptionPort is the port that Connect connects to. It has to be given.
const OptionPort = "port"

// OptionHost is the host name of the Pod of a Service that Connect connects to. Without it any Pod is meant.
const OptionHost = "host"

// OptionAs is the Pod in whose name a site calls a Service, as NAMESPACE/NAME in the space. Without it the site takes
// one that it has.
const OptionAs = "as"

// IsHost reports whether a text may be the host name of a Pod.
func IsHost(text string) bool { return labelForm.MatchString(text) }

// ToService is the request for a connection to a port of a Service, at the Pod with a host name, or at any where that
// is empty. Whoever sends it says which Service of that name it is.
func ToService(space, namespace, service, host string, port uint16) *Request {
	query := url.Values{OptionPort: {strconv.Itoa(int(port))}}
	if host != "" {
		query.Set(OptionHost, host)
	}
	return &Request{Space: space, Namespace: namespace, Pod: service, Resource: Services, Verb: Connect, Query: query,
		Upgrade: Bytes()}
}

// option checks one value of an option.
type option func(string) bool

func anything(string) bool { return true }

func boolean(s string) bool { _, err := strconv.ParseBool(s); return err == nil }

func natural(s string) bool { _, err := strconv.ParseUint(s, 10, 63); return err == nil }

func moment(s string) bool { _, err := time.Parse(time.RFC3339, s); return err == nil }

func port(s string) bool { n, err := strconv.ParseUint(s, 10, 16); return err == nil && n > 0 }

// portOrName is a port of a Service by its number or its name.
func portOrName(s string) bool { return port(s) || labelForm.MatchString(s) }

func podName(s string) bool {
	namespace, name, both := strings.Cut(s, "/")
	return both && labelForm.MatchString(namespace) && isName(name)
}

func split(s string) bool { return s == "All" || s == "Stdout" || s == "Stderr" }

func propagation(s string) bool { return s == "Orphan" || s == "Background" || s == "Foreground" }

func all(s string) bool { return s == "All" }

// ending are the options of a deletion.
var ending = map[string]option{
	"gracePeriodSeconds": natural,
	"propagationPolicy":  propagation,
	"dryRun":             all,
}

var talking = map[string]option{
	"container": labelForm.MatchString, "stdin": boolean, "stdout": boolean, "stderr": boolean, "tty": boolean,
}

// options are what each verb takes. Those of many are options that may be given more than once.
var (
	options = map[Verb]map[string]option{
		Log: {
			"container":    labelForm.MatchString,
			"follow":       boolean,
			"previous":     boolean,
			"timestamps":   boolean,
			"sinceSeconds": natural,
			"sinceTime":    moment,
			"tailLines":    natural,
			"limitBytes":   natural,
			"stream":       split,
		},
		Exec: {
			"container": talking["container"],
			"stdin":     boolean,
			"stdout":    boolean,
			"stderr":    boolean,
			"tty":       boolean,
			"command":   anything,
		},
		Attach: talking, PortForward: {"ports": port}, Debug: {},
		Evict: ending, Delete: ending, Change: {"dryRun": all},
		Connect: {OptionPort: port, OptionHost: IsHost},
		View:    viewing,
		Call:    {OptionPort: portOrName, OptionHost: IsHost, OptionAs: podName},
	}
	many = map[string]bool{"command": true, "ports": true, OptionAmong: true}
)

// Options returns an error that wraps ErrRequest when there is no such verb, or it does not take
// these options.
func (v Verb) Options(query url.Values) error {
	known, ok := options[v]
	if !ok {
		return fmt.Errorf("%w: there is no verb %.80q", ErrRequest, string(v))
	}
	for name, values := range query {
		check := known[name]
		if check == nil {
			return fmt.Errorf("%w: %s does not take %.80q", ErrRequest, v, name)
		}
		if len(values) != 1 && !many[name] {
			return fmt.Errorf("%w: %q is given %d times", ErrRequest, name, len(values))
		}
		for _, value := range values {
			if !check(value) {
				return fmt.Errorf("%w: %s=%.80q", ErrRequest, name, value)
			}
		}
	}
	return nil
}

// upgrades reports whether the verb needs a connection that is upgraded.
func (v Verb) upgrades() bool {
	return v == Exec || v == Attach || v == PortForward || v == Connect
}

// hasBody reports whether the verb goes with a body.
func (v Verb) hasBody() bool { return v == Debug || v == Change }

// maxBody is how long the body may be.
func (v Verb) maxBody() int {
	if v == Change {
		return MaxChange
	}
	return MaxBody
}

// ofBorn reports whether the verb is also for what is born at a site beside Pods.
func (v Verb) ofBorn() bool { return v == Delete || v == Change }

// Waits reports whether the answer may begin much later: a log that is followed begins with the
// container's next line.
func (v Verb) Waits() bool { return v == Log }
