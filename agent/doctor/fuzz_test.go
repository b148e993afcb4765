package doctor

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"skerry.dev/skerry/agent"
)

// Whatever stands in the file, what is said of it has a verdict, and a fault has a fix.
func FuzzStatus(f *testing.F) {
	f.Add([]byte(`{"at":"2026-01-02T03:04:05Z","running":true,"ended":"the parent refused the session: Version: x"}`))
	f.Add([]byte(`{"replaced":["2026-01-02T03:04:05Z","2026-01-02T03:04:05Z"],"conditions":[{"type":"CenterTrusted","status":"False"}]}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, agent.StatusFile), data, 0o600); err != nil {
			t.Fatal(err)
		}
		said, err := agent.ReadStatus(dir)
		if err != nil {
			return
		}
		if found := judge(said, time.Now()); found.Verdict == "" || (found.Fault == "") != (found.Fix == "") {
			t.Errorf("%+v", found)
		}
	})
}
