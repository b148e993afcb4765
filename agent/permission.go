package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"

	"skerry.dev/skerry/agent/apply"
	"skerry.dev/skerry/agent/policy"
	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/tunnel"
)

// Names in the file: what the parent takes away, and what was allowed when everything was last
// applied.
const (
	narrowName = "narrow"
	policyName = "policy"
)

// permission is what the site allows: its own configuration, less what the parent has taken away.
// The latter is durable, so that it applies without the parent.
type permission struct {
	agent   *agent
	current atomic.Pointer[policy.Policy]
	changed bool // since the last run

	mu       sync.Mutex     // guards what follows
	wanted   *tunnel.Narrow // the parent's latest word
	applying bool           // a goroutine brings narrow in line with wanted
	narrow   *tunnel.Narrow // the word that is obeyed; changed by that goroutine only
}

var _ apply.Site = (*permission)(nil)

// openPermission reads what the parent took away. An unreadable configuration of the site is an
// error; an unreadable word of the parent is ignored.
func openPermission(a *agent) (*permission, error) {
	p := &permission{agent: a}
	data, err := a.file.Meta(narrowName)
	if err != nil {
		return nil, fmt.Errorf("read what the parent does not allow: %w", err)
	}
	if len(data) > 0 {
		if err := json.Unmarshal(data, &p.narrow); err != nil {
			a.Log.Warn("what the parent does not allow cannot be read; it says it again", "err", err)
		}
	}
	compiled, err := policy.Compile(a.Allow, p.narrow)
	if err != nil && p.narrow != nil {
		a.Log.Warn("what the parent does not allow is not understood and not obeyed", "err", err)
		compiled, err = policy.Compile(a.Allow, nil)
	}
	if err != nil {
		return nil, fmt.Errorf("configuration of what spaces may do here (allow): %w", err)
	}
	p.wanted = p.narrow
	p.changed, err = p.set(compiled)
	return p, err
}

// Policy returns what the site allows now.
func (p *permission) Policy() *policy.Policy { return p.current.Load() }

// Owner returns whose spaces this site has.
func (p *permission) Owner() target.SpacesOwner { return p.agent.owner() }

// set stores a policy and reports whether it has changed.
func (p *permission) set(next *policy.Policy) (changed bool, err error) {
	result := next.Result()
	said, err := json.Marshal(result)
	if err != nil {
		return false, fmt.Errorf("encode what is allowed: %w", err)
	}
	before, err := p.agent.file.Meta(policyName)
	if err != nil {
		return false, fmt.Errorf("read what was allowed: %w", err)
	}
	p.current.Store(next)
	p.agent.conditions.Permit(&result)
	if bytes.Equal(before, said) {
		return false, nil
	}
	if err := p.agent.file.SetMeta(policyName, said); err != nil {
		p.agent.Log.Warn("what is allowed could not be written; everything is looked at again after a restart",
			"err", err)
	}
	return len(before) > 0, nil
}

// narrowed applies what the parent takes away. It removes nothing that is applied. What is no
// longer allowed is no longer changed, and that is reported. Two sessions may call at once: the
// second call leaves its word to the first one, and returns.
func (a *agent) narrowed(n *tunnel.Narrow) {
	p := a.permission
	if p == nil {
		return
	}
	p.mu.Lock()
	p.wanted = n
	if p.applying {
		p.mu.Unlock()
		return
	}
	p.applying = true
	for n := p.wanted; !n.Equal(p.narrow); n = p.wanted {
		p.mu.Unlock()
		obeyed := p.obey(n)
		p.mu.Lock()
		switch {
		case obeyed:
			p.narrow = n
		case p.wanted == n:
			p.wanted = p.narrow
		}
	}
	p.applying = false
	p.mu.Unlock()
}

// obey stores what the parent takes away, and then applies it. It reports false for what it does
// not understand, which changes nothing.
func (p *permission) obey(n *tunnel.Narrow) bool {
	a := p.agent
	next, err := policy.Compile(a.Allow, n)
	if err != nil {
		a.Log.Error("what the parent does not allow is not understood; what it said before holds", "err", err)
		return false
	}
	data, err := json.Marshal(n)
	if err == nil {
		err = a.file.SetMeta(narrowName, data)
	}
	if err != nil {
		a.Log.Warn("what the parent does not allow could not be written; it says it again", "err", err)
	}
	if changed, err := p.set(next); err != nil {
		a.Log.Error("what the site allows could not be compared", "err", err)
	} else if changed {
		a.Log.Info("the parent has changed what this site allows; everything is looked at again")
		a.applier.Recheck()
		a.observer.RecheckUpsyncs()
	}
	return true
}
