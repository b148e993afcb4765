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
	"skerry.dev/skerry/tunnel/ondemand"
)

// lookEvery is how often it is looked what has become of a wish.
const lookEvery = 10 * time.Second

// Wish is the version that an agent is wished to have. Its methods may be called concurrently.
type Wish struct {
	dir, version, result string
	conditions           *tunnel.Conditions
	log                  *slog.Logger

	mu     sync.Mutex
	wished string // empty for none, or the one that the agent has
	said   string // the message of the condition
}

// Open returns the wish of the agent with a data directory and a version. A file of a wish that this version fulfils
// is removed: the center may be away.
func Open(dir, version string, conditions *tunnel.Conditions, log *slog.Logger) *Wish {
	w := &Wish{dir: dir, version: version, result: ResultFile, conditions: conditions, log: log}
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
}

// write keeps a version in the file, or removes that.
func (w *Wish) write(version string) {
	var err error
	if version == "" {
		if err = os.Remove(filepath.Join(w.dir, WishFile)); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	} else {
		err = writeFile(w.dir, WishFile, []byte(version+"\n"), 0o600)
	}
	if err != nil {
		w.log.Warn("the version that the parent wishes cannot be written", "file", filepath.Join(w.dir, WishFile), "err", err)
	}
}

// Run says what becomes of a wish until ctx ends.
func (w *Wish) Run(ctx context.Context) {
	for ondemand.Pause(ctx, lookEvery) {
		w.mu.Lock()
		w.sayLocked()
		w.mu.Unlock()
	}
}

// sayLocked sets the condition. w.mu must be held.
func (w *Wish) sayLocked() {
	if w.wished == "" {
		if w.said != "" {
			w.said = ""
			w.conditions.Clear(tunnel.VersionAsWished)
		}
		return
	}
	reason, text := "Waiting", fmt.Sprintf("version %s is wished, and the agent is %s. The site's owner has it installed "+
		"with /etc/skerry/upgrade-agent and: systemctl enable --now skerry-agent-upgrade.path", w.wished, w.version)
	if r, is := readResult(w.result); is && r.Version == w.wished {
		at := r.At.UTC().Format(time.RFC3339)
		if reason = "Failed"; r.Error != "" {
			text = fmt.Sprintf("version %s is wished, and installing it failed at %s: %s. Mend that on the site, and then: "+
				"systemctl start skerry-agent-upgrade", w.wished, at, strings.TrimRight(r.Error, ". \n"))
		} else {
			text = fmt.Sprintf("version %s is wished, /etc/skerry/upgrade-agent ended well at %s, and the agent that runs is "+
				"%s: it installed nothing, or did not start the agent again", w.wished, at, w.version)
		}
	}
	if text == w.said {
		return
	}
	w.said = text
	w.conditions.Set(tunnel.Condition{Type: tunnel.VersionAsWished, Status: tunnel.False, Reason: reason, Message: text})
}
