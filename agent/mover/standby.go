package mover

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"time"
)

// A standby is a copy that is ready to be begun on at any time. Its rounds are staged: what a round changes is first
// written to a log, in a directory of the volume, and the files are not touched. Once all of it is on the disk the log
// becomes the redo log, and the files become what it says. Whatever ends that, the next who comes to the volume does
// it again from the beginning, with the same result. So the volume holds one whole round, or becomes the next one.

// The directory of a standby. No sender sends it, and no receiver takes it.
const (
	standbyDir  = ".skerry-standby"
	stagingFile = standbyDir + "/staging" // what has come of a round
	redoFile    = standbyDir + "/redo"    // a whole round that the files become
	roundFile   = standbyDir + "/round"   // the one that they are
	probeFile   = standbyDir + "/probe"   // whether the volume takes a file so long
)

// ours reports whether a path is the directory of a standby, or in it.
func ours(path string) bool {
	return path == standbyDir || strings.HasPrefix(path, standbyDir+separator)
}

// Standby says that a volume is one.
type Standby struct {
	// At is when the round begins. A zero one is that of a volume that may be no standby.
	At time.Time
	// Whole is when the round began that the volume holds, also where it does not say so; zero is nothing. What follows
	// on nothing is not staged.
	Whole time.Time
}

// Round is what a standby holds.
type Round struct {
	// At is when it was begun: the volume holds nothing older.
	At    time.Time `json:"at"`
	Files int64     `json:"files"`
	Bytes int64     `json:"bytes"`
}

// begin has a volume be one whole round, and chooses where the next one goes. The volume must be locked.
func (r *receiving) begin(of Standby) (sink, error) {
	was, err := r.recover()
	if err != nil {
		return nil, err
	}
	if r.is.At = of.At; r.is.At.IsZero() {
		r.is.At = time.Now()
	}
	in := &inplace{volume: r.volume}
	if was == nil && of.At.IsZero() {
		return in, nil
	}
	if err := r.makeDir(); err != nil {
		return nil, err
	}
	if was == nil {
		if of.Whole.IsZero() {
			return &first{in}, nil
		}
		if err := r.setRound(Round{At: of.Whole}); err != nil {
			return nil, err
		}
	}
	return r.stage()
}

// Settle has a volume be one whole round, and returns which, a zero one for none. It waits for a receiver that has not
// ended yet. Released, nothing of a standby is left in it.
func Settle(ctx context.Context, root *os.Root, release bool) (Round, error) {
	return settle(ctx, volume{root, nil}, release)
}

func settle(ctx context.Context, v volume, release bool) (is Round, err error) {
	lock, err := alone(ctx, v.root)
	if err != nil {
		return Round{}, err
	}
	defer lock.Close()
	was, err := v.recover()
	if err != nil {
		return Round{}, err
	}
	if was != nil {
		is = *was
	}
	if release {
		err = v.release()
	}
	return is, err
}

// first writes the first round of a standby in place: it holds nothing yet.
type first struct{ *inplace }

func (f *first) end(is Round) (Names, error) {
	unkept, err := f.inplace.end(is)
	if err != nil {
		return Names{}, err
	}
	return unkept, f.setRound(is)
}

func (v volume) makeDir() error {
	at, err := v.root.Lstat(".")
	if err != nil {
		return fmt.Errorf("look at the volume: %w", err)
	}
	if err := v.write(); err != nil {
		return err
	}
	switch err := v.root.Mkdir(standbyDir, 0o700); {
	case err == nil:
		_ = v.root.Chtimes(".", time.Time{}, at.ModTime()) // who may not set it has not set that of the source
	case !errors.Is(err, fs.ErrExist):
		return fmt.Errorf("make the directory of a standby: %w", err)
	}
	if info, err := v.root.Lstat(standbyDir); err != nil || !info.IsDir() {
		return fmt.Errorf("%s is no directory", standbyDir)
	}
	return v.sync(".")
}

// sync has a directory on the disk.
func (v volume) sync(dir string) error {
	f, err := v.root.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return fmt.Errorf("open a directory: %w", err)
	}
	defer f.Close()
	if err := f.Sync(); err != nil {
		return fmt.Errorf("flush directory %s: %w", dir, err)
	}
	return nil
}

// recover has a volume be one whole round: the next one where all of that had come. It returns nil where it holds none,
// or is no standby.
func (v volume) recover() (*Round, error) {
	info, err := v.root.Lstat(standbyDir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("look at %s: %w", standbyDir, err)
	case !info.IsDir():
		return nil, nil // it is the app's
	}
	_, err = v.root.Lstat(redoFile)
	switch {
	case err == nil:
		if _, err := v.replay(); err != nil {
			return nil, err
		}
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("look at %s: %w", redoFile, err)
	}
	if err := v.drop(stagingFile); err != nil {
		return nil, err
	}
	f, err := openFile(v.root, roundFile, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", roundFile, err)
	}
	defer f.Close()
	is := &Round{}
	if err := json.NewDecoder(f).Decode(is); err != nil {
		return nil, fmt.Errorf("read %s: %w", roundFile, err)
	}
	return is, nil
}

func (v volume) drop(path string) error {
	if err := v.write(); err != nil {
		return err
	}
	if err := v.root.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove %s: %w", path, err)
	}
	return nil
}

// setRound says durably which round a volume holds.
func (v volume) setRound(is Round) error {
	b, err := json.Marshal(is)
	if err != nil {
		return fmt.Errorf("encode a round: %w", err)
	}
	const next = roundFile + ".next"
	if err := v.write(); err != nil {
		return err
	}
	f, err := openFile(v.root, next, os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return fmt.Errorf("create %s: %w", next, err)
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Sync(), f.Close(), v.write()); err != nil {
		return fmt.Errorf("write %s: %w", next, err)
	}
	if err := v.root.Rename(next, roundFile); err != nil {
		return fmt.Errorf("rename %s: %w", next, err)
	}
	return v.sync(standbyDir)
}

// release has a volume be a standby no more: nothing of that is left in it.
func (v volume) release() error {
	info, err := v.root.Lstat(standbyDir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look at %s: %w", standbyDir, err)
	}
	at, err := v.root.Lstat(".")
	if err != nil {
		return fmt.Errorf("look at the volume: %w", err)
	}
	// The round goes last: without it the volume holds none.
	for _, name := range []string{stagingFile, redoFile, probeFile, roundFile + ".next", roundFile, standbyDir} {
		if err := v.drop(name); err != nil {
			return err
		}
	}
	_ = v.root.Chtimes(".", time.Time{}, at.ModTime()) // who may not set it has not set that of the source
	return v.sync(".")
}
