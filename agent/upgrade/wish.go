package upgrade

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/keyfile"
	"skerry.dev/skerry/tunnel/ondemand"
)

// lookEvery is how often it is looked what has become of a wish.
const lookEvery = 10 * time.Second

// Wish is the version that an agent is wished to have. Its methods may be called concurrently.
type Wish struct {
	dir, version, result string
	conditions           *tunnel.Conditions
	log                  *slog.Logger

	pending chan struct{} // one slot: something is wished

	mu     sync.Mutex
	wished string // empty for none, or the one that the agent has
}

// Open returns the wish of the agent with a data directory and a version. A file of a wish that this version fulfils
// is removed: the center may be away.
func Open(dir, version string, conditions *tunnel.Conditions, log *slog.Logger) *Wish {
	w := &Wish{dir: dir, version: version, result: ResultFile, conditions: conditions, log: log,
		pending: make(chan struct{}, 1)}
	if wished, err := readWish(dir); err == nil && wished == version {
		w.write("")
	}
	return w
}

// Set takes over what the center wishes.
func (w *Wish) Set(is tunnel.Wish) {
	wished := is.AgentVersion
	switch {
	case wished == w.version:
		wished = ""
	case wished != "" && !versionForm.MatchString(wished):
		w.log.Warn("the parent wishes a version of this agent that is none; nothing is done", "version", wished)
		wished = ""
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	on, err := readWish(w.dir)
	if errors.Is(err, errNoWish) {
		err = nil
	}
	if err != nil || on != wished {
		w.write(wished)
	}
	if w.wished != wished && wished != "" {
		w.log.Info("the parent wishes another version of this agent; its machine's owner says whether that is installed",
			"wished", wished, "version", w.version, "unit", "skerry-agent-upgrade.path")
	}
	w.wished = wished
	w.sayLocked()
	if wished != "" {
		select {
		case w.pending <- struct{}{}:
		default:
		}
	}
}

// write keeps a version in the file, or removes that.
func (w *Wish) write(version string) {
	var err error
	if version == "" {
		if err = os.Remove(filepath.Join(w.dir, WishFile)); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	} else {
		err = keyfile.Replace(filepath.Join(w.dir, WishFile), []byte(version+"\n"))
	}
	if err != nil {
		w.log.Warn("the version that the parent wishes cannot be written", "file", filepath.Join(w.dir, WishFile), "err", err)
	}
}

// Run says what becomes of a wish until ctx ends. It does nothing while nothing is wished.
func (w *Wish) Run(ctx context.Context) {
	for {
		select {
		case <-w.pending:
		case <-ctx.Done():
			return
		}
		for w.look() && ondemand.Pause(ctx, lookEvery) {
		}
	}
}

// look says what has become of the wish, and reports whether there is one.
func (w *Wish) look() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sayLocked()
	return w.wished != ""
}

// sayLocked sets the condition. w.mu must be held.
func (w *Wish) sayLocked() {
	if w.wished == "" {
		w.conditions.Clear(tunnel.VersionAsWished)
		return
	}
	reason, text := tunnel.VersionWaits, fmt.Sprintf("%s, and the agent is %s. The site's owner has it installed with "+
		"/etc/skerry/upgrade-agent and: systemctl enable --now skerry-agent-upgrade.path", tunnel.Wished(w.wished), w.version)
	if r, is := readResult(w.result); is && r.Version == w.wished {
		at := r.At.UTC().Format(time.RFC3339)
		if reason = tunnel.VersionFailed; r.Error != "" {
			text = fmt.Sprintf("%s, and installing it failed at %s: %s. Mend that on the site, and then: "+
				"systemctl start skerry-agent-upgrade", tunnel.Wished(w.wished), at, strings.TrimRight(r.Error, ". \n"))
		} else {
			text = fmt.Sprintf("%s, /etc/skerry/upgrade-agent ended well at %s, and the agent that runs is %s: "+
				"it installed nothing, or did not start the agent again", tunnel.Wished(w.wished), at, w.version)
		}
	}
	w.conditions.Set(tunnel.Condition{Type: tunnel.VersionAsWished, Status: tunnel.False, Reason: reason, Message: text})
}
