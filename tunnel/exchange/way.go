package exchange

// The ways to reach into a site, by their names in allow: of an agent and in spec.allow of a
// SyncTarget.
const (
	Logs       = "logs"
	Executing  = "exec"
	Forwarding = "portForward"
	Viewing    = "view"
	PodWrites  = "podWrites"
	Calling    = "services"
)

// Ways are all of them.
var Ways = []string{Logs, Executing, Forwarding, Viewing, PodWrites, Calling}

// Way is the way that a request takes.
func (r *Request) Way() string {
	switch r.Verb {
	case Log:
		return Logs
	case View, Call: // which shows how things are, and reaches no further than a Pod of the site
		return Viewing
	case Connect:
		if r.Resource == Services {
			return Calling
		}
		return Forwarding
	case PortForward:
		return Forwarding
	case Delete, Evict, Change:
		return PodWrites
	}
	return Executing
}
