package machine

import (
	"context"
	"os/exec"
	"strconv"
	"strings"

	"skerry.dev/skerry/tunnel/doctor"
)

// Unit is what the service manager says of a service.
type Unit struct {
	// State is active, activating, failed, inactive; Result is why it ended, as in exit-code.
	State, Result string
	Process       int
	Restarts      int
}

// Units asks the service manager.
type Units interface {
	// Unit returns false when there is no such service.
	Unit(ctx context.Context, name string) (Unit, bool)
}

var unitFailing = doctor.Fault{Name: "service-failing",
	Means: "The service ends again and again, and no other check says why.",
	Fix:   "read why it ends: journalctl -u UNIT -n 50"}

// manyRestarts is how often a service may have been started again while it is not up.
const manyRestarts = 2

// Service returns the check whether a service is up. It stands behind all checks of what may keep
// it from running.
func Service(name string, units Units, needs []string) doctor.Check {
	return doctor.Check{Name: "machine.service", What: "the service is up", Needs: needs,
		Faults: []doctor.Fault{unitFailing},
		Run: func(ctx context.Context) []doctor.Finding {
			u, ok := units.Unit(ctx, name)
			switch {
			case !ok:
				return one(doctor.Skip("there is no service %s here", name))
			case u.State == "failed" || u.State == "activating" && u.Restarts > manyRestarts:
				return one(unitFailing.Fails("%s is %s after %d restarts (%s)", name, u.State, u.Restarts, u.Result).
					Do("read why it ends: journalctl -u %s -n 50", name))
			}
			return one(doctor.Good("%s is %s", name, u.State))
		}}
}

// Systemd is the service manager of most machines.
type Systemd struct{}

// Unit implements Units.
func (Systemd) Unit(ctx context.Context, name string) (u Unit, ok bool) {
	out, err := exec.CommandContext(ctx, "systemctl", "show", name,
		"--property=LoadState,ActiveState,MainPID,NRestarts,Result").Output()
	if err != nil {
		return u, false
	}
	for line := range strings.Lines(string(out)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		switch key {
		case "LoadState":
			ok = value == "loaded"
		case "ActiveState":
			u.State = value
		case "Result":
			u.Result = value
		case "MainPID":
			u.Process, _ = strconv.Atoi(value)
		case "NRestarts":
			u.Restarts, _ = strconv.Atoi(value)
		}
	}
	return u, ok
}

// HasCredential reports whether the service manager gives a service a credential of this name, from
// wherever it has it.
func (Systemd) HasCredential(ctx context.Context, unit, credential string) bool {
	out, err := exec.CommandContext(ctx, "systemctl", "show", unit,
		"--property=LoadCredential,LoadCredentialEncrypted,SetCredential,SetCredentialEncrypted").Output()
	return err == nil && strings.Contains(string(out), credential)
}
