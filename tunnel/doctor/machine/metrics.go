package machine

import (
	"context"
	"errors"
	"net"
	"strconv"

	"golang.org/x/sys/unix"

	"skerry.dev/skerry/tunnel/doctor"
)

var metricsPortTaken = doctor.Fault{Name: "metrics-port-taken",
	Means: "Another process listens where the metrics are to be served, so the service cannot start.",
	Fix:   "stop that process, or choose another port with metrics-listen:"}

// Metrics returns the check whether the address for metrics is free, or served by a process that
// running reports to be there. listen is HOST:PORT; empty is no metrics.
func Metrics(listen string, needs []string, running func() bool) doctor.Check {
	return doctor.Check{Name: "machine.metrics", What: "the address for metrics is free", Needs: needs,
		Faults: []doctor.Fault{metricsPortTaken},
		Run: func(ctx context.Context) []doctor.Finding {
			switch {
			case listen == "":
				return one(doctor.Skip("no metrics-listen: is set"))
			case running():
				return one(doctor.Good("the process that serves them runs"))
			}
			l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", listen)
			if errors.Is(err, unix.EADDRINUSE) {
				_, port, _ := net.SplitHostPort(listen)
				number, _ := strconv.Atoi(port)
				return one(metricsPortTaken.Fails("%s listens at %s", PortHolder("tcp", number), listen))
			} else if err != nil {
				return one(doctor.Skip("%s", err))
			}
			l.Close()
			return nil
		}}
}
