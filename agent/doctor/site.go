package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"skerry.dev/skerry/agent"
	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store/bolt"
	"skerry.dev/skerry/store/datadir"
	"skerry.dev/skerry/tunnel/doctor"
	"skerry.dev/skerry/tunnel/doctor/machine"
	"skerry.dev/skerry/tunnel/doctor/parent"
	"skerry.dev/skerry/tunnel/enroll"
)

// Config says which site is checked.
type Config struct {
	// DataDir is the agent's, and of a relay its directory's uplink.
	DataDir string
	// Parent is the way to the parent; the credentials are read from DataDir.
	Parent parent.Config
	// Relay has no target but its own API, and its center's checks of the machine stand before these.
	Relay bool
	// Joining looks at a join with the token, of a site that may have joined before.
	Joining bool
	// NoTarget leaves the workload cluster out.
	NoTarget bool
	// Target is the workload cluster; TargetErr is why it is not known.
	Target    target.Access
	TargetErr error
	// SpacesNamespace and Impersonate are what the agent is configured with.
	SpacesNamespace string
	Impersonate     bool
	// MetricsListen is HOST:PORT of its configuration; empty is none.
	MetricsListen string
	// Unit is the name of the service that the agent should be.
	Unit  string
	Units machine.Units
	// Machine has what else is private on the machine; its Dir is DataDir.
	Machine machine.Config
}

// Site returns the checks of a site, or of a site that is about to join.
func Site(cfg Config) []doctor.Check {
	cfg.Machine.Dir = cfg.DataDir
	s := &site{Config: cfg}
	credentials, err := enroll.Load(cfg.DataDir, enroll.NewClock(enroll.ClockState{}))
	if errors.Is(err, enroll.ErrNotEnrolled) || errors.Is(err, fs.ErrPermission) {
		err = nil // what may not be read is a finding of its own
	}
	s.identityErr, s.Parent.Credentials = err, credentials
	s.Parent.Dir, s.Parent.Needs = cfg.DataDir, []string{"agent.identity"}
	if cfg.Joining {
		s.Parent.Credentials = nil
	}
	s.Parent.OnClock = func(offset time.Duration) { s.offset = offset }
	var checks []doctor.Check
	if !cfg.Relay {
		checks = machine.Checks(cfg.Machine)
	}
	checks = append(checks, doctor.Check{Name: "agent.identity", What: "the site's identity is sound",
		Needs: []string{"machine.directory"}, Faults: []doctor.Fault{directoryOfCenter, identityDamaged}, Run: s.identity})
	checks = append(checks, parent.Checks(s.Parent)...)
	if !cfg.Relay && !cfg.NoTarget {
		checks = append(checks, s.targetChecks()...)
	}
	if !cfg.Relay && !cfg.Joining {
		store := filepath.Join(cfg.DataDir, agent.StoreFile)
		checks = append(checks, machine.Metrics(cfg.MetricsListen, []string{"machine.directory"}, func() bool {
			return machine.LockHolder(store).ID != 0
		}))
	}
	return append(checks,
		doctor.Check{Name: "agent.store", What: "agent.db is sound", Needs: []string{"machine.directory", "machine.disk"},
			Faults: []doctor.Fault{alreadyRunning, storeDamaged, storeKeys, storeNewer}, Run: s.store},
		doctor.Check{Name: "agent.status", What: "the agent follows its parent",
			Needs:  []string{"machine.disk", "parent.admission"},
			Faults: statusFaults, Run: s.status})
}

type site struct {
	Config
	identityErr error
	offset      time.Duration  // of this machine's clock to the parent's, as far as it is known
	client      *target.Client // of the target, once it answers
	cluster     string         // the target's, once it has said
}

func one(f doctor.Finding) []doctor.Finding { return []doctor.Finding{f} }

func (s *site) identity(context.Context) []doctor.Finding {
	if err := datadir.Check(s.DataDir, datadir.Agent); err != nil {
		return one(directoryOfCenter.Fails("%s is a center's", s.DataDir))
	}
	switch {
	case s.identityErr != nil:
		return one(identityDamaged.Fails("%s", s.identityErr))
	case s.Parent.Credentials == nil:
		return one(doctor.Skip("the site has not joined yet"))
	}
	return one(doctor.Good("this is site %s", s.Parent.Credentials.Name()))
}

// store looks at agent.db unless the agent runs, which looks at it whenever it starts.
func (s *site) store(ctx context.Context) []doctor.Finding {
	path := filepath.Join(s.DataDir, agent.StoreFile)
	if _, err := os.Stat(path); err != nil {
		return one(doctor.Skip("there is none yet: the first start makes it"))
	}
	checked, err := agent.Check(agent.CheckConfig{DataDir: s.DataDir, Log: slog.New(slog.DiscardHandler)})
	switch {
	case errors.Is(err, bolt.ErrNewerFormat):
		return one(storeNewer.Fails("%s", err))
	case err != nil:
		return one(storeDamaged.Fails("%s", err))
	case checked.Running:
		return one(s.running(ctx, machine.LockHolder(path)))
	}
	for _, f := range checked.Findings {
		switch {
		case f.Where == "identity": // a check of its own
		case f.NeedsKeys():
			return one(storeKeys.Fails("%s", f.What))
		default:
			return one(storeDamaged.Fails("%s: %s%s", f.Where, f.What, more(len(checked.Findings)-1)))
		}
	}
	return one(doctor.Good("%d objects are wanted", checked.Objects))
}

func more(n int) string {
	if n < 1 {
		return ""
	}
	return fmt.Sprintf(" and %d more findings", n)
}

// running says who has agent.db open. The service that cannot start for that is another one.
func (s *site) running(ctx context.Context, holder machine.Process) doctor.Finding {
	if s.Units != nil {
		u, ok := s.Units.Unit(ctx, s.Unit)
		wants := u.State == "activating" || u.State == "failed"
		if ok && wants && holder.ID != 0 && holder.ID != u.Process {
			return alreadyRunning.Fails("%s has %s open, and %s is %s", holder, agent.StoreFile, s.Unit, u.State).
				Do("stop process %d, or give it a data directory of its own", holder.ID)
		}
	}
	return doctor.Good("the agent runs (%s), and looks at it whenever it starts", holder)
}
