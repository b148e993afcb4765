package machine

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"skerry.dev/skerry/tunnel/doctor"
)

// Config says what is checked.
type Config struct {
	// Dir is the data directory.
	Dir string
	// Private are further files and directories that nobody but their owner may read; those that
	// are missing are left out.
	Private []string
	// Disk is nil for the machine's own.
	Disk Disk
}

// The faults of a data directory.
var (
	unreadable = doctor.Fault{Name: "files-unreadable",
		Means: "The data directory cannot be looked at by the user that runs the doctor.",
		Fix:   "run it as root: sudo skerry doctor"}
	wrongOwner = doctor.Fault{Name: "files-wrong-owner",
		Means: "Files of the data directory are another user's than the directory: the service cannot use them.",
		Fix:   "give them to the user of the directory with chown, and start the service by systemctl alone"}
	openMode = doctor.Fault{Name: "files-open",
		Means: "Other users may read or write what is secret.",
		Fix:   "take their rights away: chmod -R go= DIR"}
	shutMode = doctor.Fault{Name: "files-shut",
		Means: "The owner itself may not read a file of the data directory, or not write it.",
		Fix:   "give the rights back: chmod -R u+rwX DIR"}

	diskFull = doctor.Fault{Name: "disk-full",
		Means: "The disk of the data directory is full: what is known goes on, nothing new is stored.",
		Fix:   "delete something else from that disk, or make it larger; the service goes on by itself"}
	diskLow = doctor.Fault{Name: "disk-low",
		Means: "The disk of the data directory is nearly full.",
		Fix:   "delete something else from that disk, or make it larger"}
	quotaFull = doctor.Fault{Name: "disk-quota-full",
		Means: "The disk has room, and the quota of the service's user has none left.",
		Fix:   "raise the quota of that user (edquota, xfs_quota)"}
	readOnly = doctor.Fault{Name: "disk-read-only",
		Means: "The file system of the data directory is read-only.",
		Fix:   "look for errors of the disk (dmesg), check it (fsck) and mount it for writing again"}
	diskBroken = doctor.Fault{Name: "disk-broken",
		Means: "The disk of the data directory answers with errors.",
		Fix:   "look for errors of the disk (dmesg), and replace it"}
	diskSlow = doctor.Fault{Name: "disk-slow",
		Means: "The disk takes long to make a write durable, and every acknowledged change waits for that.",
		Fix:   "move the data directory to another disk, or take away what else writes to this one"}
)

// Checks returns the checks of a data directory.
func Checks(cfg Config) []doctor.Check {
	if cfg.Disk == nil {
		cfg.Disk = disk{}
	}
	m := &machine{Config: cfg}
	return []doctor.Check{
		{Name: "machine.directory", What: "the data directory can be looked at", Run: m.directory,
			Faults: []doctor.Fault{unreadable, diskBroken}},
		{Name: "machine.files", What: "owner and modes of the files are right", Needs: []string{"machine.directory"},
			Run: m.files, Faults: []doctor.Fault{wrongOwner, openMode, shutMode}},
		{Name: "machine.disk", What: "the disk takes writes", Needs: []string{"machine.directory"}, Run: m.disk,
			Faults: []doctor.Fault{diskFull, diskLow, quotaFull, readOnly, diskBroken, unreadable}},
		{Name: "machine.fsync", What: "the disk is fast enough", Needs: []string{"machine.disk"}, Run: m.fsync,
			Faults: []doctor.Fault{diskSlow}},
	}
}

type machine struct {
	Config
	walk  *walk     // over the files
	syncs syncTimes // of the probe
}

func one(f doctor.Finding) []doctor.Finding { return []doctor.Finding{f} }

// missing reports whether there is no data directory yet.
func (m *machine) missing() bool {
	_, err := os.Stat(m.Dir)
	return errors.Is(err, fs.ErrNotExist)
}

func (m *machine) notThere() []doctor.Finding {
	return one(doctor.Skip("%s is not there yet: the first start makes it", m.Dir))
}

func (m *machine) fsync(context.Context) []doctor.Finding {
	if m.missing() {
		return m.notThere()
	}
	median := m.syncs.median()
	if median > slowSync {
		return one(diskSlow.Warns("a small write is durable after %s (the median of %d)", round(median), len(m.syncs)))
	}
	return one(doctor.Good("a small write is durable after %s", round(median)))
}
