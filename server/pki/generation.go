package pki

import (
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"skerry.dev/skerry/tunnel/keyfile"
)

// generation is a set of authorities that were made together. Its files are in the directory
// ca-<number>.
type generation struct {
	number                int64
	server, client, agent *authority
	// crossed is the server authority signed by the one before it: who knows only that one can
	// verify this one with it. Nil in the first.
	crossed *x509.Certificate
}

// The files of a generation. Each authority is NAME.crt and NAME.key.
const (
	serverFile  = "server-ca"
	clientFile  = "client-ca"
	agentFile   = "agent-ca"
	crossedFile = "server-ca-crossed.crt"
)

func generationDir(dir string, number int64) string {
	return filepath.Join(dir, fmt.Sprintf("ca-%d", number))
}

// parts are where the three authorities go, by file.
func (g *generation) parts() map[string]**authority {
	return map[string]**authority{serverFile: &g.server, clientFile: &g.client, agentFile: &g.agent}
}

// makeGeneration makes a generation that is there as a whole, or not at all. What a crash left of
// an earlier try is made anew.
func makeGeneration(dir string, number int64, before *generation) (_ *generation, err error) {
	tmp, err := os.MkdirTemp(dir, ".ca-*") // mode 0700
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	g := &generation{number: number}
	for file, into := range g.parts() {
		if *into, err = makeAuthority(filepath.Join(tmp, file), fmt.Sprintf("skerry %s %d", file, number)); err != nil {
			return nil, err
		}
	}
	if before != nil {
		if g.crossed, err = before.server.cross(g.server.cert); err != nil {
			return nil, err
		}
		if err := keyfile.Replace(filepath.Join(tmp, crossedFile), keyfile.EncodeCertificates(g.crossed)); err != nil {
			return nil, err
		}
	}
	path := generationDir(dir, number)
	if err := os.RemoveAll(path); err != nil {
		return nil, err
	}
	return g, keyfile.Rename(tmp, path)
}

func readGeneration(dir string, number int64) (_ *generation, err error) {
	g, path := &generation{number: number}, generationDir(dir, number)
	for file, into := range g.parts() {
		if *into, err = readAuthority(filepath.Join(path, file)); err != nil {
			return nil, err
		}
	}
	g.crossed, err = readCertificate(filepath.Join(path, crossedFile))
	if number == 1 && errors.Is(err, os.ErrNotExist) {
		return g, nil
	}
	return g, err
}
