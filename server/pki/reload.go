package pki

import "fmt"

// Reload reads the directory again, which another replica of the center has changed. An error
// changes nothing.
func (p *PKI) Reload() error {
	fresh := &PKI{dir: p.dir}
	if err := fresh.read(); err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	p.mu.Lock()
	p.state, p.trusted, p.told = fresh.state, fresh.trusted, fresh.told
	p.mu.Unlock()
	return p.sweep()
}
