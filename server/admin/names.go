package admin

import (
	"bytes"
	"context"
	"path"
	"strings"
	"time"
)

// namesTime bounds how long a shell waits for names after the tab key.
const namesTime = 2 * time.Second

// Names returns the names of the center's "spaces" or "targets", for completion. It returns none
// when the center does not answer in time.
func Names(ctx context.Context, kind string) (names []string) {
	ctx, cancel := context.WithTimeout(ctx, namesTime)
	defer cancel()
	var out bytes.Buffer
	list := ListSpaces
	if kind == "targets" {
		list = Status
	}
	if err := list(ctx, ListOptions{Output: "name", Out: &out}); err != nil {
		return nil
	}
	for line := range strings.Lines(out.String()) {
		names = append(names, path.Base(strings.TrimSpace(line)))
	}
	return names
}
