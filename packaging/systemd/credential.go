package systemd

import (
	"os"
	"path/filepath"
)

// credentials is the id under which the units load the directory /etc/skerry/credentials. systemd
// puts it before the name of each file there.
const credentials = "skerry_"

// Credential returns the path of a credential of this service: token, for example, is what
// /etc/skerry/credentials/token holds. It returns "" when there is none.
func Credential(name string) string {
	dir := os.Getenv("CREDENTIALS_DIRECTORY")
	if dir == "" {
		return ""
	}
	path := filepath.Join(dir, credentials+name)
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}
