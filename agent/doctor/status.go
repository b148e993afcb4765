package doctor

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"time"

	"skerry.dev/skerry/agent"
	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/doctor"
)

var statusFaults = []doctor.Fault{twoAgents, centerRegressed, deletionsHeld, certificateFailing, storeRefilling,
	clusterReplaced, leaseEnded, protocolSkew, sessionRefused}

const (
	// turnsTime is how long two agents are said to take turns after they did the last time. Each
	// waits half a minute to a minute before it comes again.
	turnsTime = 15 * time.Minute
	// leastTurns: one session that took another's place may have been a restart of this machine from
	// a copy of itself, which is over.
	leastTurns = 2
	// connectTime is how long an agent may be without a session before that is a finding.
	connectTime = 30 * time.Second
)

// status reads what the agent last said of itself. Only one thing is named: the one that the others
// follow from.
func (s *site) status(context.Context) []doctor.Finding {
	said, err := agent.ReadStatus(s.DataDir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return one(doctor.Skip("no agent has run here yet"))
	case err != nil:
		return one(doctor.Skip("what the agent said cannot be read: %s", err))
	}
	return one(judge(said, time.Now()))
}

// conditionFaults are the faults behind conditions that are False, the gravest first. Those of the
// target, the disk and the clock have checks of their own.
var conditionFaults = []struct {
	kind, reason string
	fault        doctor.Fault
	fails        bool
}{
	{tunnel.CenterTrusted, tunnel.CenterRegressed, centerRegressed, true},
	{tunnel.CenterTrusted, tunnel.DeletionsHeld, deletionsHeld, true},
	{tunnel.CertificateValid, "", certificateFailing, true},
	{tunnel.StoreHealthy, "Refilling", storeRefilling, false},
	{tunnel.ClusterUnchanged, "", clusterReplaced, false},
}

func judge(said *agent.Status, now time.Time) doctor.Finding {
	if n := len(said.Replaced); n >= leastTurns && now.Sub(said.Replaced[n-1]) < turnsTime {
		return twoAgents.Fails("another agent took this one's session over %d times, the last time at %s", n,
			said.Replaced[n-1].Format(time.RFC3339))
	}
	for _, known := range conditionFaults {
		for _, c := range said.Conditions {
			if c.Type != known.kind || c.Status != tunnel.False || known.reason != "" && c.Reason != known.reason {
				continue
			}
			if known.fails {
				return known.fault.Fails("%s", c.Message)
			}
			return known.fault.Warns("%s", c.Message)
		}
	}
	if said.Running && said.Connected == nil && said.Ended != "" && now.Sub(said.At) > connectTime {
		if strings.Contains(said.Ended, ": Version: ") || strings.Contains(said.Ended, ": Dictionary: ") {
			return protocolSkew.Fails("%s", said.Ended)
		}
		return sessionRefused.Fails("no session since %s: %s", said.At.Format(time.RFC3339), said.Ended)
	}
	for _, c := range said.Conditions {
		if c.Type == tunnel.LeaseHeld && c.Status == tunnel.False {
			return leaseEnded.Warns("%s", c.Message)
		}
	}
	switch {
	case said.Connected != nil:
		return doctor.Good("connected over %s since %s", said.Transport, said.Connected.Format(time.RFC3339))
	case said.Running:
		return doctor.Good("the agent is connecting")
	}
	return doctor.Good("the agent was stopped at %s", said.At.Format(time.RFC3339))
}
