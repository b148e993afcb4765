package encryption

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestAKeyFileThatIsNotThereHasANextStep(t *testing.T) {
	path := filepath.Join(t.TempDir(), "nosuch")
	if _, err := readKeys(path); err == nil || !strings.Contains(err.Error(), "openssl rand -base64 32 >"+path) {
		t.Error(err)
	}
}
