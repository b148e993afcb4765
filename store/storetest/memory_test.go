package storetest

import "testing"

func TestMemory(t *testing.T) {
	Run(t, func(_ *testing.T, o Options) (Sink, func() Sink) {
		m := NewMemory()
		m.AcceptNewIncarnation, m.KeepRemoved = o.AcceptNewIncarnation, o.KeepRemoved
		return m, func() Sink { return m }
	})
}
