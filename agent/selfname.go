package agent

import "sync/atomic"

// selfName is the name by which the parent knows the target. It may be used concurrently.
type selfName struct{ known atomic.Pointer[string] }

func (n *selfName) set(name string) { n.known.Store(&name) }

// get returns an empty name before the target has joined.
func (n *selfName) get() string {
	if name := n.known.Load(); name != nil {
		return *name
	}
	return ""
}

// names are those by which the parent knows the target, the present one first: what it has said last, or
// else the name that the target joined with.
func (a *agent) names() []string {
	if names := a.identity.names(); len(names) > 0 {
		return names
	}
	if name := a.self.get(); name != "" {
		return []string{name}
	}
	return nil
}
