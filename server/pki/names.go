package pki

import (
	"fmt"
	"slices"
	"strings"
)

// Advertise says how the center is reached: by all of these names, of which kubeconfigs and join
// commands carry the lasting ones. KeepNames records those.
func (p *PKI) Advertise(all, lasting []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hosts, p.lasting = slices.Clone(all), slices.Clone(lasting)
}

// NamesKept reports whether the lasting names are recorded.
func (p *PKI) NamesKept() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !slices.ContainsFunc(p.lasting, func(name string) bool { return !has(p.state.Names, name) })
}

// KeepNames records the lasting names. The certificate has them until ForgetNames, whatever is
// advertised later.
func (p *PKI) KeepNames() error {
	if p.NamesKept() {
		return nil
	}
	return p.rename(func(names []string) []string {
		for _, name := range p.lasting {
			if !has(names, name) {
				names = append(names, name)
			}
		}
		return names
	})
}

// ForgetNames takes names off the certificate. Those by which the center is still reached stay.
func (p *PKI) ForgetNames(forget ...string) error {
	return p.rename(func(names []string) []string {
		return slices.DeleteFunc(names, func(name string) bool { return has(forget, name) && !has(p.hosts, name) })
	})
}

// rename changes the record, durably first.
func (p *PKI) rename(change func(names []string) []string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.state
	s.Names = change(slices.Clone(s.Names))
	if slices.Equal(s.Names, p.state.Names) {
		return nil
	}
	if err := s.write(p.dir); err != nil {
		return fmt.Errorf("record the names of the center's certificate: %w", err)
	}
	p.state = s
	return nil
}

// formerLocked are the recorded names by which the center is no longer reached. p.mu must be held.
func (p *PKI) formerLocked() []string {
	return slices.DeleteFunc(slices.Clone(p.state.Names), func(name string) bool { return has(p.hosts, name) })
}

// FormerNames are the names that the certificate has although they are not advertised any more.
func (p *PKI) FormerNames() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.formerLocked()
}

// has reports whether a name is among others, in whatever case it is written.
func has(names []string, name string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, name) })
}
