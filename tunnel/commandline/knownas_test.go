package commandline

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestKnownAs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "unpacked-17")
	_, err := os.ReadFile(filepath.Join(path, "keys"))
	if got := KnownAs(err, path, "the backup"); got.Error() != "open the backup/keys: no such file or directory" ||
		!errors.Is(got, fs.ErrNotExist) {
		t.Errorf("%v", got)
	}
	if other := errors.New("another"); KnownAs(other, path, "x") != other || KnownAs(nil, path, "x") != nil {
		t.Error("what does not name the path is another error")
	}
}
