package storetest

import "testing"

func TestMemory(t *testing.T) {
	Run(t, func(_ *testing.T, o Options) (Sink, func() Sink) {
		m := NewMemory()
		m.AcceptNewIncarnation = o.AcceptNewIncarnation
		return m, func() Sink { return m }
	})
}
