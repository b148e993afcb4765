package doctor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"skerry.dev/skerry/tunnel/tunneltest"
)

func TestEncryption(t *testing.T) {
	cfg := stopped(t)
	missing, err := false, error(nil)
	cfg.Encryption = func(context.Context) (bool, error) { return missing, err }
	alone(t, Center(cfg), "", "")
	err = errors.New("the KMS does not answer")
	alone(t, Center(cfg), "", "")
	missing = true
	alone(t, Center(cfg), "center.encryption", "encryption-key-missing")
	hold(t, cfg) // a center that runs has them
	alone(t, Center(cfg), "center.port", "directory-in-use")
}

func TestAdvertise(t *testing.T) {
	cfg, a := running(t)
	shown := a.at.Certificate()
	name := append(shown.DNSNames, fmt.Sprint(shown.IPAddresses))[0]
	cfg.Advertise = []string{name}
	alone(t, Center(cfg), "", "")
	cfg.Advertise = []string{name, "elsewhere.example.com"}
	f := alone(t, Center(cfg), "center.name", "name-not-in-certificate")
	if !strings.HasSuffix(f.Why, "lacks elsewhere.example.com") {
		t.Errorf("%+v", f)
	}
}

func TestMetricsPort(t *testing.T) {
	l, err := net.Listen("tcp", tunneltest.AnyPort())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	cfg := stopped(t)
	cfg.MetricsListen = l.Addr().String()
	alone(t, Center(cfg), "machine.metrics", "metrics-port-taken")
	l.Close()
	alone(t, Center(cfg), "", "")
}

func TestBackups(t *testing.T) {
	cfg, a := running(t)
	cfg.Backups = Backups{To: filepath.Join(t.TempDir(), "backups"),
		Due: func(last, _ time.Time) time.Time { return last.Add(24 * time.Hour) }}
	alone(t, Center(cfg), "center.backup", "backup-unwritable") // it does not exist
	if err := os.WriteFile(cfg.Backups.To, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	alone(t, Center(cfg), "center.backup", "backup-unwritable") // it is a file
	if err := os.Remove(cfg.Backups.To); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(cfg.Backups.To, 0o700); err != nil {
		t.Fatal(err)
	}
	alone(t, Center(cfg), "", "")
	made := func(ago time.Duration) {
		a.set(func() {
			a.metrics = fmt.Sprintf("# TYPE skerry_backup_last_success_timestamp_seconds gauge\n"+
				"skerry_backup_last_success_timestamp_seconds %e\n", float64(time.Now().Add(-ago).Unix()))
		})
	}
	made(25 * time.Hour) // it is under way
	alone(t, Center(cfg), "", "")
	made(31 * time.Hour)
	alone(t, Center(cfg), "center.backup", "backup-overdue")
	cfg.Backups.To = "s3://bucket/center"
	alone(t, Center(cfg), "center.backup", "backup-overdue")
	a.set(func() { a.metrics = "skerry_backup_last_success_timestamp_seconds 0\n" })
	alone(t, Center(cfg), "", "")
}

// A center that runs as a user of its own cannot write where root can.
func TestBackupsOfAnotherUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root gives files away")
	}
	const service = 4711
	cfg := stopped(t)
	cfg.Backups.To = t.TempDir()
	err := filepath.WalkDir(cfg.DataDir, func(path string, _ os.DirEntry, err error) error {
		return errors.Join(err, os.Chown(path, service, service))
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(cfg.Backups.To, 0o755); err != nil {
		t.Fatal(err)
	}
	f := alone(t, Center(cfg), "center.backup", "backup-unwritable")
	if !strings.Contains(f.Why, "belongs to user 0 and has mode 0755; the center runs as user 4711") {
		t.Errorf("%+v", f)
	}
	if err := os.Chown(cfg.Backups.To, service, 0); err != nil {
		t.Fatal(err)
	}
	alone(t, Center(cfg), "", "")
}
