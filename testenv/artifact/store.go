package artifact

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"skerry.dev/skerry/testenv/filelock"
)

// CacheVariable names the directory of built artifacts.
const CacheVariable = "SKERRY_TESTENV_CACHE"

// kept is how many versions of an artifact stay: running clusters may still use
// an older one.
const kept = 4

func cacheDir() (string, error) {
	dir := os.Getenv(CacheVariable)
	if dir == "" {
		base, err := os.UserCacheDir() // $XDG_CACHE_HOME or ~/.cache
		if err != nil {
			return "", fmt.Errorf("no cache directory: %w; set %s", err, CacheVariable)
		}
		dir = filepath.Join(base, "skerry", "testenv")
	}
	return dir, os.MkdirAll(dir, 0o755)
}

// store is a directory of artifacts: NAME/KEY is one version of one.
type store struct {
	dir string
	log io.Writer
}

// entry returns the directory of a version, making it with build when there is
// none. It appears complete or not at all, and at most one process makes it.
func (s store) entry(ctx context.Context, name, key string, build func(into string) error) (string, error) {
	versions := filepath.Join(s.dir, name)
	final := filepath.Join(versions, key)
	if exists(final) {
		return final, nil
	}
	if err := os.MkdirAll(versions, 0o755); err != nil {
		return "", err
	}
	lock, err := filelock.Acquire(ctx, filepath.Join(versions, ".lock"))
	if err != nil {
		return "", err
	}
	defer lock.Release()
	if exists(final) {
		return final, nil
	}
	began := time.Now()
	fmt.Fprintf(s.log, "building %s\n", name)
	tmp := filepath.Join(versions, "new")
	if err := errors.Join(os.RemoveAll(tmp), os.Mkdir(tmp, 0o755)); err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	if err := build(tmp); err != nil {
		return "", err
	}
	if err := os.Rename(tmp, final); err != nil {
		return "", err
	}
	fmt.Fprintf(s.log, "built %s in %.1fs\n", name, time.Since(began).Seconds())
	return final, prune(versions)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// prune removes all but the newest versions.
func prune(versions string) error {
	entries, err := os.ReadDir(versions)
	if err != nil {
		return err
	}
	type version struct {
		path string
		made time.Time
	}
	var all []version
	for _, e := range entries {
		if info, err := e.Info(); err == nil && e.IsDir() {
			all = append(all, version{filepath.Join(versions, e.Name()), info.ModTime()})
		}
	}
	slices.SortFunc(all, func(a, b version) int { return b.made.Compare(a.made) })
	for _, old := range all[min(kept, len(all)):] {
		if err := os.RemoveAll(old.path); err != nil {
			return err
		}
	}
	return nil
}
