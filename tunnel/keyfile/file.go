package keyfile

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
)

// ReadKey reads the key of a file. Errors name the file.
func ReadKey(path string) (*ecdsa.PrivateKey, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	key, err := Key(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return key, nil
}

// MakeKey makes a key (ECDSA P-256) and stores it in a file.
func MakeKey(path string) (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	data, err := EncodeKey(key)
	if err != nil {
		return nil, err
	}
	return key, Replace(path, data)
}

// ReadCertificates reads the certificates of a file. Errors name the file.
func ReadCertificates(path string) ([]*x509.Certificate, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	certs, err := Certificates(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return certs, nil
}

// Replace writes a file as a whole and durably, with mode 0600. After a crash it has the old or the
// new content.
func Replace(path string, data []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".new-*") // mode 0600
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(data)
	err = errors.Join(err, tmp.Sync(), tmp.Close())
	if err == nil {
		err = Rename(tmp.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// Rename renames a file or directory durably, within a directory.
func Rename(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(to))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// Protect removes the rights of others on the named files, and on everything in the named
// directories, and logs that. It returns an error if it cannot. It skips what does not exist.
func Protect(log *slog.Logger, paths ...string) error {
	for _, path := range paths {
		err := filepath.WalkDir(path, func(path string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			} else if err != nil {
				return err
			}
			return protect(log, path, d)
		})
		if err != nil {
			return fmt.Errorf("keep %s private: %w", path, err)
		}
	}
	return nil
}

func protect(log *slog.Logger, path string, d fs.DirEntry) error {
	if !d.IsDir() && !d.Type().IsRegular() {
		return nil
	}
	info, err := d.Info()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	mode := info.Mode().Perm()
	if mode&0o077 == 0 {
		return nil
	}
	if err := os.Chmod(path, mode&^0o077); errors.Is(err, syscall.EROFS) {
		log.Error("others may use what is secret, and the file system is read-only",
			"path", path, "mode", fmt.Sprintf("%04o", mode))
		return nil
	} else if err != nil {
		return fmt.Errorf(
			"others may use it (mode %04o), and that cannot be changed: chmod go= %s as its owner: %w", mode, path, err)
	}
	log.Warn("others were allowed to use what is secret; the mode was tightened",
		"path", path, "was", fmt.Sprintf("%04o", mode))
	return nil
}
