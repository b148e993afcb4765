package quic

import "github.com/prometheus/client_golang/prometheus"

// register shows what a listener has turned away.
func (l *Listener) register(with prometheus.Registerer) error {
	for _, c := range []prometheus.Collector{
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "skerry_link_handshakes_refused_total",
			Help: "Handshakes over QUIC that were not begun, because too many went on.",
		}, func() float64 {
			l.shaking.mu.Lock()
			defer l.shaking.mu.Unlock()
			return float64(l.shaking.refused)
		}),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "skerry_link_signs_refused_total", Help: "Signs of life beside QUIC that were of no session, forged or old.",
		}, func() float64 {
			l.heartbeats.mu.Lock()
			defer l.heartbeats.mu.Unlock()
			return float64(l.heartbeats.strange)
		}),
	} {
		if err := with.Register(c); err != nil {
			return err
		}
	}
	return nil
}
