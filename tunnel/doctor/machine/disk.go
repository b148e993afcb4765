package machine

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"syscall"
	"time"

	"skerry.dev/skerry/tunnel/doctor"
)

// Disk is what holds a directory.
type Disk interface {
	// Space returns what may still be written there, in bytes and files, of how much.
	Space(dir string) (Space, error)
	// Probe writes a small file, makes it durable a few times and removes it. It returns how long
	// each time took.
	Probe(dir string) ([]time.Duration, error)
}

// Space is the room on a disk. Files is -1 where their number is not limited.
type Space struct{ Free, Total, Files int64 }

// Limits of a disk.
const (
	leastFree = 1 << 20  // below this it counts as full
	lowFree   = 64 << 20 // below this, and below a tenth of the disk, it is nearly full
	// slowSync is how long a durable write may take. A worn SD card takes 100 ms.
	slowSync   = 500 * time.Millisecond
	probeSyncs = 5
	probeBytes = 64 << 10
)

func (m *machine) disk(context.Context) []doctor.Finding {
	if m.missing() {
		return m.notThere()
	}
	space, err := m.Disk.Space(m.Dir)
	if err != nil {
		return one(diskBroken.Fails("%s: %s", m.Dir, cause(err)))
	}
	if m.syncs, err = m.Disk.Probe(m.Dir); err != nil {
		return one(refusal(m.Dir, err))
	}
	switch {
	case space.Files == 0:
		return one(diskFull.Fails("no more files can be made on the disk of %s: no inodes are left", m.Dir))
	case space.Free < leastFree:
		return one(diskFull.Fails("%d kB are free on the disk of %s", space.Free/1000, m.Dir))
	case space.Free < lowFree && space.Free < space.Total/10:
		return one(diskLow.Warns("%d MB of %d MB are free on the disk of %s", space.Free/1e6, space.Total/1e6, m.Dir))
	}
	return one(doctor.Good("%d MB are free", space.Free/1e6))
}

// refusal says why a write failed.
func refusal(dir string, err error) doctor.Finding {
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return diskFull.Fails("a write to %s: no space left on device", dir)
	case errors.Is(err, syscall.EDQUOT):
		return quotaFull.Fails("a write to %s: disk quota exceeded", dir)
	case errors.Is(err, syscall.EROFS):
		return readOnly.Fails("a write to %s: read-only file system", dir)
	case errors.Is(err, fs.ErrPermission):
		return unreadable.Fails("a write to %s: permission denied", dir)
	default:
		return diskBroken.Fails("a write to %s: %s", dir, cause(err))
	}
}

// cause is the last word of an error of the file system.
func cause(err error) string {
	var number syscall.Errno
	if errors.As(err, &number) {
		return number.Error()
	}
	return err.Error()
}

// syncTimes are how long writes took to be durable.
type syncTimes []time.Duration

func (s syncTimes) median() time.Duration {
	if len(s) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(s))
	return sorted[len(sorted)/2]
}

func round(d time.Duration) time.Duration { return d.Round(100 * time.Microsecond) }

// disk is the machine's own.
type disk struct{}

// Space implements Disk.
func (disk) Space(dir string) (Space, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return Space{}, err
	}
	out := Space{Free: int64(s.Bavail) * int64(s.Bsize), Total: int64(s.Blocks) * int64(s.Bsize), Files: -1}
	if s.Files > 0 {
		out.Files = int64(s.Ffree)
	}
	return out, nil
}

// Probe implements Disk.
func (disk) Probe(dir string) (times []time.Duration, err error) {
	f, err := os.CreateTemp(dir, ".doctor-*") // mode 0600
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	page := make([]byte, probeBytes/probeSyncs)
	for range probeSyncs {
		began := time.Now()
		if _, err := f.Write(page); err != nil {
			return nil, err
		}
		if err := f.Sync(); err != nil {
			return nil, err
		}
		times = append(times, time.Since(began))
	}
	return times, nil
}
