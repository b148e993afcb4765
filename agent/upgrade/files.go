package upgrade

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// WishFile is the file of an agent's data directory with the version that is wished. It is there only while the
// agent has another one.
const WishFile = "upgrade"

// ResultFile is where Install says what it has done.
const ResultFile = "/run/skerry-agent-upgrade/result.json"

const (
	maxWish   = 128
	maxResult = 16 << 10
)

// versionForm is what versions look like. The owner's command has one as its only argument.
var versionForm = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z.+~-]{0,63}$`)

// errNoWish is returned where no version is wished.
var errNoWish = errors.New("no version is wished")

// readWish reads which version is wished in a data directory. Whoever writes there may be anybody who has taken over
// the agent: a link is not followed, and what is no version is not repeated.
func readWish(dir string) (string, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", fmt.Errorf("open the agent's data directory: %w", err)
	}
	defer root.Close()
	text, err := readFile(root, WishFile, maxWish)
	switch version := strings.TrimSpace(string(text)); {
	case errors.Is(err, fs.ErrNotExist):
		return "", errNoWish
	case err != nil:
		return "", fmt.Errorf("read which version is wished: %w", err)
	case !versionForm.MatchString(version):
		return "", fmt.Errorf("%s is no version", filepath.Join(dir, WishFile))
	default:
		return version, nil
	}
}

// readFile reads a small regular file.
func readFile(root *os.Root, name string, most int64) ([]byte, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no ordinary file", f.Name())
	}
	return io.ReadAll(io.LimitReader(f, most))
}

// Result is what Install has done last.
type Result struct {
	Version string    `json:"version"`
	At      time.Time `json:"at"`
	// Error is why it has failed, empty where the owner's command ended well.
	Error string `json:"error,omitempty"`
}

// readResult reads the result of the last installation; it is false where there is none.
func readResult(path string) (r Result, is bool) {
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return r, false
	}
	defer root.Close()
	text, err := readFile(root, filepath.Base(path), maxResult)
	return r, err == nil && json.Unmarshal(text, &r) == nil
}
