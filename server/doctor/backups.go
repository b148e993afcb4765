package doctor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"skerry.dev/skerry/tunnel/doctor"
)

// Backups are the scheduled backups of a center.
type Backups struct {
	// To is a directory, or s3://BUCKET/PREFIX; empty is no backups.
	To string
	// Due is when the backup after one that was made at last is due.
	Due func(last, now time.Time) time.Time
}

// lateBackup is how late a backup may be: as long as its retries take a few turns, or a large one is
// written.
const lateBackup = 6 * time.Hour

// backups looks at the directory that backups go to, and asks a center that runs for the newest one.
func (c *center) backups(ctx context.Context) []doctor.Finding {
	if c.Backups.To == "" {
		return one(doctor.Skip("no backup-to: is set"))
	}
	if !strings.Contains(c.Backups.To, "://") {
		if why := c.unwritable(c.Backups.To); why != "" {
			return one(backupUnwritable.Fails("%s", why))
		}
	}
	if c.api.config == nil {
		return one(doctor.Skip("no center runs"))
	}
	last, known := c.lastBackup(ctx)
	if !known {
		return one(doctor.Skip("this center takes no backups now: another replica leads"))
	}
	now := time.Now()
	due := c.Backups.Due(last, now)
	switch {
	case last.IsZero():
		return one(doctor.Good("none was made yet"))
	case now.After(due.Add(lateBackup)):
		return one(backupOverdue.Fails("the newest backup is of %s, and the next was due at %s",
			last.UTC().Format(time.RFC3339), due.UTC().Format(time.RFC3339)))
	}
	return one(doctor.Good("the newest is of %s", last.UTC().Format(time.RFC3339)))
}

// unwritable says why the user of the data directory, as which the service runs, cannot write to a
// directory; "" if it can.
func (c *center) unwritable(dir string) string {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return dir + " does not exist"
	case errors.Is(err, fs.ErrPermission):
		return ""
	case err != nil:
		return err.Error()
	case !info.IsDir():
		return dir + " is no directory"
	}
	if unix.Access(dir, unix.W_OK) == unix.EROFS {
		return dir + " is on a file system that is mounted read-only"
	}
	own, err := os.Stat(c.DataDir)
	if err != nil {
		return ""
	}
	service, ok := own.Sys().(*syscall.Stat_t)
	there, ok2 := info.Sys().(*syscall.Stat_t)
	if !ok || !ok2 || service.Uid == 0 {
		return ""
	}
	mode := info.Mode().Perm()
	if service.Uid == there.Uid && mode&0o300 != 0o300 ||
		service.Uid != there.Uid && service.Gid == there.Gid && mode&0o030 != 0o030 ||
		service.Uid != there.Uid && service.Gid != there.Gid && mode&0o003 != 0o003 {
		return fmt.Sprintf("%s belongs to user %d and has mode %04o; the center runs as user %d",
			filepath.Clean(dir), there.Uid, mode, service.Uid)
	}
	return ""
}

// lastBackup asks the center that runs when its newest backup was made; the zero time is never.
func (c *center) lastBackup(ctx context.Context) (last time.Time, known bool) {
	text, err := (&Remote{c.api.config}).Get(ctx, "/metrics")
	if err != nil {
		return last, false
	}
	const name = "skerry_backup_last_success_timestamp_seconds "
	for line := range bytes.Lines(text) {
		value, ok := strings.CutPrefix(string(line), name)
		if !ok {
			continue
		}
		seconds, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		if err != nil {
			return last, false
		}
		if seconds > 0 {
			last = time.Unix(int64(seconds), 0)
		}
		return last, true
	}
	return last, false
}
