package install

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/version"
)

// programVersion returns what a program says as its version, "" for one that does not run or says none.
func programVersion(ctx context.Context, path string) string {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, "version").Output()
	words := strings.Fields(string(out)) // skerry VERSION (commit COMMIT)
	if err != nil || len(words) < 2 {
		return ""
	}
	return words[1]
}

// checkDowngrade refuses to put this program, which has a version, in place of a newer one. A version that
// is no number, as that of a build without git, is neither newer nor older.
func (m *machine) checkDowngrade(ctx context.Context, at layout, own string) error {
	if at.inPlace {
		return nil
	}
	if _, err := os.Stat(m.path(at.program)); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	there := m.version(ctx, m.path(at.program))
	is, err := version.ParseSemantic(there)
	if err != nil {
		return nil
	}
	if this, err := version.ParseSemantic(own); err != nil || !this.LessThan(is) {
		return nil
	}
	return fmt.Errorf("%s is version %s, and this program is %s, which is older: it may not read the data that %[2]s "+
		"has written; to go back, take a backup (skerry center backup FILE), run skerry uninstall --purge, install %[3]s "+
		"and restore a backup that it made", at.program, there, own)
}
