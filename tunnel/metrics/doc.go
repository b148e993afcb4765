// Package metrics shows the figures of a process to Prometheus.
//
// Each part of a process (center, uplink, agent) adds collectors to a [Registry] under a label. A
// [Listener] serves the registry as plain text.
//
//	r := metrics.New(metrics.Build{Version: version, Revision: commit})
//	l, err := metrics.Listen("127.0.0.1:9090", log)
//	err = l.Run(ctx, r.Handler())
//
// Nothing in it is global. Names are skerry_<noun>_<unit>. No label names an object or a space. A
// label names a target only if that is a direct child, 1,100 of these at most. So the size of the
// answer does not grow with what is placed. packaging/docs/reference/metrics.md lists all metrics; package
// metricstest keeps it current.
package metrics
