package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/urfave/cli/v2"

	"skerry.dev/skerry/server/apiserver/encryption"
	"skerry.dev/skerry/tunnel/keyfile"
)

// encryptionCredential is the name of the systemd credential that holds the key file.
const encryptionCredential = "skerry_encryption-key"

// How long until all that read the datastore use what was changed in the key file: other replicas
// look every sharedKeysPause, the caches of this process are a moment behind the writes.
const (
	sharedSettle = 3 * sharedKeysPause
	ownSettle    = time.Second
)

// The flags that say what encrypts the datastore.
const (
	EncryptionKeyFlag    = "encryption-key-file"
	EncryptionConfigFlag = "encryption-provider-config"
)

// EncryptionFlags are those flags.
func EncryptionFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{
			Name:    EncryptionKeyFlag,
			EnvVars: []string{"SKERRY_ENCRYPTION_KEY_FILE"},
			Usage: "file with the keys that encrypt Secrets in the datastore, " +
				"one a line, 32 bytes in base64, the one that encrypts first; empty means the systemd credential " +
				encryptionCredential +
				", else pki/" + encryption.FileName + " in the data directory, which the center makes",
		},
		&cli.StringFlag{Name: EncryptionConfigFlag, EnvVars: []string{"SKERRY_ENCRYPTION_PROVIDER_CONFIG"},
			Usage: "file with a Kubernetes EncryptionConfiguration, KMS v2 included, for the resources that it names; " +
				"empty means none"},
	}
}

// keyFile is the file with the keys that encrypt Secrets, and whether it is the center's own.
func keyFile(dataDir, given string) (path string, managed bool) {
	if given != "" {
		return given, false
	}
	if path := credentialFile(encryptionCredential); path != "" {
		return path, false
	}
	return filepath.Join(dataDir, "pki", encryption.FileName), true
}

// firstEncryptionKey makes the key file of a new center of several replicas, before it is shared.
func (s *Server) firstEncryptionKey() error {
	path, managed := keyFile(s.cfg.DataDir, s.cfg.EncryptionKeyFile)
	if !managed {
		return nil
	}
	return encryption.MakeKeyFile(path)
}

// openEncryption finds the keys that the datastore needs, or refuses to serve.
func (s *Server) openEncryption() (err error) {
	c := encryption.Config{ProviderConfig: s.cfg.EncryptionProviderConfig, Client: s.store.Client(), Settle: ownSettle,
		Log: s.cfg.Log.With("part", "encryption")}
	c.KeyFile, c.Managed = keyFile(s.cfg.DataDir, s.cfg.EncryptionKeyFile)
	if !c.Managed {
		if err := keyfile.Protect(s.cfg.Log, s.cfg.EncryptionKeyFile); err != nil && s.cfg.EncryptionKeyFile != "" {
			return err
		}
	}
	if s.shared != nil {
		c.Settle = sharedSettle
		c.Change = func(do func() error) error {
			return sharedAuthorities{s.keys, s.shared, s.lead.holds, s.rotated}.step(do)
		}
	}
	s.encrypted, err = encryption.Open(context.Background(), c)
	if err != nil {
		return fmt.Errorf("open the datastore: %w", err)
	}
	s.closers = append(s.closers, s.encrypted.Close)
	return nil
}

// followed is called when another replica has changed the keys.
func (s *Server) followed() {
	s.rotated()
	if err := s.encrypted.Reload(); err != nil && !errors.Is(err, os.ErrNotExist) {
		s.cfg.Log.Error("the encryption keys of the other replicas cannot be read here", "err", err)
	}
}
