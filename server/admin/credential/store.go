package credential

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"skerry.dev/skerry/tunnel/keyfile"
)

// Store is a directory with credentials, mode 0700.
type Store struct{ Dir string }

// OwnStore is the store of the user of this process: skerry in their directory of configurations,
// such as ~/.config.
func OwnStore() (Store, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return Store{}, fmt.Errorf("find where to keep credentials: %w; set HOME", err)
	}
	return Store{filepath.Join(dir, "skerry")}, nil
}

// Authorities is the file with the authorities of a center, in PEM.
func (s Store) Authorities(center string) string { return filepath.Join(s.Dir, center, "ca.crt") }

func (s Store) file(n Name) string { return filepath.Join(s.Dir, n.Center, n.Space+".json") }

// Save stores a credential.
func (s Store) Save(n Name, c Credential) error {
	data, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return s.write(s.file(n), append(data, '\n'))
}

// SaveAuthorities stores the authorities of a center.
func (s Store) SaveAuthorities(center string, pem []byte) error {
	return s.write(s.Authorities(center), pem)
}

func (s Store) write(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("keep credentials: %w; name a directory that you may write to with XDG_CONFIG_HOME", err)
	}
	return keyfile.Replace(path, data)
}

// Load returns a credential. It returns fs.ErrNotExist where there is none.
func (s Store) Load(n Name) (Credential, error) {
	var c Credential
	data, err := os.ReadFile(s.file(n))
	if errors.Is(err, fs.ErrNotExist) {
		return c, fmt.Errorf("there are no credentials %s on this machine: %w", n, err)
	} else if err != nil {
		return c, fmt.Errorf("read credentials %s: %w", n, err)
	}
	if err := json.Unmarshal(data, &c); err != nil {
		return c, fmt.Errorf("read credentials %s: %s is damaged: %w", n, s.file(n), err)
	}
	return c, nil
}

// lock has one process at a time renew what a file keeps, and makes its directory.
func lock(file string) (unlock func() error, err error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, fmt.Errorf("keep credentials: %w; name a directory that you may write to with XDG_CONFIG_HOME", err)
	}
	if unlock, err = keyfile.Lock(file); err != nil {
		return nil, fmt.Errorf("lock credentials: %w", err)
	}
	return unlock, nil
}
