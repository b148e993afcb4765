package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/ondemand"
)

// HoldFile is the file in an agent's data directory by which a site holds releases: while it is there the
// site keeps those that it has. What is in it is told as the reason.
const HoldFile = "hold-releases"

const (
	// holdLook is how often the agent looks for the file.
	holdLook = time.Second
	// maxHoldReason bounds what is read of the file, in bytes.
	maxHoldReason = 200
	// reasonHeldAtSite is v1alpha1.ReasonHeldAtSite.
	reasonHeldAtSite = "HeldAtSite"
)

// runHold tells the parent whether the site holds releases, until ctx ends.
func (a *agent) runHold(ctx context.Context) {
	for {
		a.lookForHold()
		if !ondemand.Pause(ctx, holdLook) {
			return
		}
	}
}

// lookForHold sets the condition as the file is now. A file that cannot be read holds, too.
func (a *agent) lookForHold() {
	path := filepath.Join(a.DataDir, HoldFile)
	reason, err := holdReason(path)
	held := !errors.Is(err, fs.ErrNotExist)
	if held != a.holds {
		a.holds = held
		a.Log.Info("releases are held by the site", "held", held, "file", path, "reason", reason)
	}
	if !held {
		a.conditions.Clear(tunnel.TakesReleases)
		return
	}
	if reason != "" {
		reason = ": " + reason
	}
	a.conditions.Set(tunnel.Condition{Type: tunnel.TakesReleases, Status: tunnel.False, Reason: reasonHeldAtSite,
		Message: fmt.Sprintf("the file %s holds releases at the site%s; to take them again remove it there; %s", path, reason,
			tunnel.HoldCovers)})
}

// holdReason is the first line of the file.
func holdReason(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxHoldReason))
	line, _, _ := strings.Cut(strings.TrimSpace(strings.ToValidUTF8(string(text), "")), "\n")
	return strings.TrimSpace(line), err
}
