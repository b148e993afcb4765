package doctor

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"skerry.dev/skerry/store/kine"
	"skerry.dev/skerry/tunnel/doctor"
	"skerry.dev/skerry/tunnel/doctor/machine"
)

// databaseTime bounds how long a database is read: a large one takes longer.
const databaseTime = 45 * time.Second

func (c *center) database(ctx context.Context) []doctor.Finding {
	if c.Datastore != "" {
		return c.datastore(ctx)
	}
	if c.isNew() {
		return one(doctor.Skip("no center has run here yet"))
	}
	ctx, cancel := context.WithTimeout(ctx, databaseTime)
	defer cancel()
	if holder, locked := c.databaseHolder(ctx); locked {
		found := databaseLocked.Fails("%s keeps %s locked", holder, kine.FileName)
		if holder.ID != 0 {
			found = found.Do("end process %d, and never open %s of a center with another program", holder.ID, kine.FileName)
		}
		return one(found)
	}
	facts, err := kine.Examine(ctx, c.DataDir, c.running)
	switch {
	case err != nil && ctx.Err() != nil:
		return one(doctor.Skip("it is too large to be read in %s", databaseTime))
	case errors.Is(err, fs.ErrNotExist):
		return one(databaseDamaged.Fails("%s is missing, and the center's keys are there", kine.FileName))
	case err != nil:
		return one(databaseDamaged.Fails("%s", err))
	}
	return one(doctor.Good("at revision %d", facts.Revision))
}

// A program may have the database for a moment, as a backup by hand has. One that has it at each of
// several looks keeps it.
const (
	lockLooks = 5
	lockPause = 300 * time.Millisecond
)

// databaseHolder returns who keeps the database locked. A center that runs locks it for each write, so
// who else has it then is not looked for.
func (c *center) databaseHolder(ctx context.Context) (holder machine.Process, locked bool) {
	if c.running {
		return holder, false
	}
	for range lockLooks {
		pid, held, err := kine.LockHolder(c.DataDir)
		if err != nil || !held || ctx.Err() != nil {
			return holder, false
		}
		holder = machine.ProcessOf(pid)
		time.Sleep(lockPause)
	}
	return holder, true
}

// encryption looks whether the keys of Secrets are there. A center that runs has read them.
func (c *center) encryption(ctx context.Context) []doctor.Finding {
	switch {
	case c.Encryption == nil || c.Datastore != "":
		return one(doctor.Skip("the datastore is looked at when the center starts"))
	case c.isNew():
		return one(doctor.Skip("no center has run here yet"))
	case c.running:
		return one(doctor.Good("the center has them"))
	}
	missing, err := c.Encryption(ctx)
	switch {
	case missing:
		return one(encryptionKeyMissing.Fails("%s", err))
	case err != nil:
		return one(doctor.Skip("%s", err))
	}
	return one(doctor.Good("they open what is stored"))
}
