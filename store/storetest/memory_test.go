package storetest

import "testing"

func TestMemory(t *testing.T) {
	Run(t, func(_ *testing.T, o Options) (Sink, func() Sink) {
		m := NewMemory()
		m.AcceptNewIncarnation, m.KeepRemoved, m.DropRemoved = o.AcceptNewIncarnation,
			o.KeepRemoved, o.DropRemoved
		return m, func() Sink { return m }
	})
}
