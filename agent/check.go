package agent

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"text/tabwriter"

	"skerry.dev/skerry/agent/inventory"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/bolt"
	"skerry.dev/skerry/tunnel/enroll"
)

// ErrUnsound is returned by Checked.Err when a check found something wrong.
var ErrUnsound = errors.New("something is wrong with what this site keeps")

// CheckConfig says what Check does.
type CheckConfig struct {
	DataDir string
	// Repair repairs what can be repaired from what is here. A start of the agent does the same.
	Repair bool
	// RotateKey seals all Secrets under a new key and destroys the old one.
	RotateKey bool
	Log       *slog.Logger
}

// Checked is what Check found.
type Checked struct {
	DataDir string `json:"dataDir"`
	// Objects are wanted on the target, Records are known to be there.
	Objects int `json:"objects"`
	Records int `json:"records"`
	// Position in the parent's data.
	Position string `json:"position,omitempty"`
	// Kept is the name of a corrupt file that a repair has put aside.
	Kept string `json:"kept,omitempty"`
	// Running says that the agent runs and has the store open, so that its records were not read.
	Running  bool      `json:"running,omitempty"`
	Findings []Finding `json:"findings"`
	Repaired bool      `json:"repaired,omitempty"`
}

// Finding is one thing that is wrong, and what to do about it.
type Finding struct {
	bolt.Finding
	Do string `json:"do"`
}

// StoreFile is the name of an agent's store in its data directory.
const StoreFile = cacheFile

// NeedsKeys reports whether the keys of the store are what is missing.
func (f Finding) NeedsKeys() bool { return f.Do == doKeys }

const (
	doRepair = "run skerry agent check --repair, or start the agent, which does the same; what " +
		"is lost is asked of the parent"
	doKeys = "restore " + sealFile + "; or run skerry agent check --repair, and Secrets are asked of the parent again"
)

// Check checks the data directory of an agent. Each record of the store must be what was written, and
// digests and inventory must agree with the contents. Secrets must open, and the site must have its
// identity. Of an agent that runs it checks the identity and the keys: the agent itself read the store
// when it started. Without Repair it changes nothing.
func Check(c CheckConfig) (*Checked, error) {
	out := &Checked{DataDir: c.DataDir, Findings: []Finding{}}
	if _, err := os.Stat(c.DataDir); err != nil {
		return nil, fmt.Errorf("look at the data directory: %w; give --data-dir the directory of the agent", err)
	}
	if _, err := enroll.Load(c.DataDir, enroll.NewClock(enroll.ClockState{})); err != nil {
		do := "restore the files of the identity; or join again, see skerry token create at the center"
		out.add("identity", err.Error(), do)
	}
	if c.Repair || c.RotateKey {
		if err := out.mend(c); err != nil {
			return nil, err
		}
	}
	return out, out.look(c)
}

// Err is ErrUnsound when something is wrong.
func (r *Checked) Err() error {
	if len(r.Findings) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %d findings", ErrUnsound, len(r.Findings))
}

func (r *Checked) add(where, what, do string) {
	r.Findings = append(r.Findings, Finding{bolt.Finding{Where: where, What: what}, do})
}

// look reads the store without changing it.
func (r *Checked) look(c CheckConfig) error {
	path := filepath.Join(c.DataDir, cacheFile)
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		r.add(
			"store",
			path+" is not there",
			"start the agent: it is filled from the target and the parent, and nothing is deleted",
		)
		return nil
	}
	options := bolt.Options{Inspect: true, Log: c.Log}
	if _, err := os.Stat(filepath.Join(c.DataDir, sealFile)); err == nil {
		if options.Keys, err = sealKeys(c.DataDir); err != nil {
			r.add("keys", err.Error(), doKeys)
		}
	}
	file, err := bolt.Open(path, options)
	switch {
	case errors.Is(err, bolt.ErrLocked):
		r.Running = true
		return nil
	case errors.Is(err, bolt.ErrCorrupt):
		r.add("store", err.Error(), doRepair)
		return nil
	case err != nil:
		return err
	}
	found, err := file.Check()
	for _, f := range found {
		do := doRepair
		if options.Keys == nil {
			do = doKeys
		}
		r.Findings = append(r.Findings, Finding{f, do})
	}
	if err == nil && len(found) == 0 {
		err = r.agree(file)
	}
	return errors.Join(err, file.Close())
}

// agree compares the inventory with the desired copy.
func (r *Checked) agree(file *bolt.File) error {
	desired, err := file.Sink("desired", bolt.SinkOptions{})
	if errors.Is(err, bolt.ErrReadOnly) {
		return nil // the site has never had a session
	}
	if err != nil {
		return err
	}
	r.Objects, r.Position = desired.Len(), desired.Position().String()
	uids := map[string]store.Key{}
	return file.Inventory().Each(func(k store.Key, record inventory.Record) error {
		r.Records++
		if other, twice := uids[record.UID]; twice && record.UID != "" {
			r.add(k.String(), "it and "+other.String()+" are recorded as the same object", doRepair)
		}
		uids[record.UID] = k
		_, known, err := desired.Get(k)
		if err == nil && !known {
			r.add(k.String(), "it is on the target and not in the desired copy", doRepair)
		}
		return err
	})
}

// mend opens the store as a start does.
func (r *Checked) mend(c CheckConfig) error {
	keys, err := sealKeys(c.DataDir)
	if err != nil {
		return err
	}
	file, rebuilt, err := bolt.OpenOrRebuild(filepath.Join(c.DataDir, cacheFile), bolt.Options{Keys: keys, Log: c.Log})
	if errors.Is(err, bolt.ErrLocked) {
		return fmt.Errorf("%w: the agent runs, and mends its store whenever it starts; stop it to do so now", err)
	}
	if err != nil {
		return err
	}
	r.Repaired, r.Kept = true, rebuilt.Aside
	desired, err := file.Sink("desired", bolt.SinkOptions{})
	if err == nil {
		var known []store.Key
		err = file.Inventory().Each(
			func(k store.Key, _ inventory.Record) error { known = append(known, k); return nil },
		)
		if err == nil {
			_, err = desired.AddUnknown(known...)
		}
	}
	if err == nil && c.RotateKey {
		err = file.RotateKeys()
	}
	return errors.Join(err, file.Close())
}

// Print writes the result for people.
func (r *Checked) Print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "data directory\t%s\n", r.DataDir)
	if r.Running {
		fmt.Fprintln(t, "store\tin use: the agent runs, and read it when it started; stop it to read each record now")
	} else {
		fmt.Fprintf(t, "objects wanted\t%d\nobjects on the target\t%d\nposition\t%s\n", r.Objects, r.Records, r.Position)
	}
	if r.Kept != "" {
		fmt.Fprintf(t, "corrupt store kept as\t%s\n", r.Kept)
	}
	if len(r.Findings) == 0 {
		fmt.Fprintln(t, "findings\tnone")
	}
	for _, f := range r.Findings {
		fmt.Fprintf(t, "finding\t%s: %s\n\tto do: %s\n", f.Where, f.What, f.Do)
	}
	return t.Flush()
}
