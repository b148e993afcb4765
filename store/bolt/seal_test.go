package bolt_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.etcd.io/bbolt"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/bolt"
)

func keys(t *testing.T, dir string, wrap []byte) *bolt.Keys {
	t.Helper()
	k, err := bolt.OpenKeys(filepath.Join(dir, "seal.keys"), wrap)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func secret(name, value string, revision int64) store.Entry {
	body := []byte(fmt.Sprintf(`{"apiVersion":"v1","data":{"password":%q},"kind":"Secret"}`, value))
	return store.Entry{Key: store.Key{Space: "s", Resource: "secrets", Namespace: "n", Name: name},
		Revision: revision, Body: body, Hash: store.HashBody(0, body)}
}

func commit(t *testing.T, s *bolt.Sink, i store.Incarnation, revision int64,
	entries ...store.Entry) {
	t.Helper()
	err := s.Commit(context.Background(), store.Batch{Entries: entries,
		Through: store.Position{Incarnation: i, Revision: revision}})
	if err != nil {
		t.Fatal(err)
	}
}

const canary = "canary-5f2b9c-canary-5f2b9c"

func contains(t *testing.T, what string, needle []byte, paths ...string) bool {
	t.Helper()
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(raw, needle) {
			t.Logf("%s is in %s", what, path)
			return true
		}
	}
	return false
}

func TestSecretsAreSealed(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.db")
	f := open(t, path, bolt.Options{Keys: keys(t, dir, nil)})
	s, i := sink(t, f, bolt.SinkOptions{}), store.NewIncarnation()
	e := secret("x", canary, 1)
	commit(t, s, i, 1, e)
	if got, _, err := s.Get(e.Key); err != nil || !bytes.Equal(got.Body, e.Body) {
		t.Errorf("body %q, %v", got.Body, err)
	}
	f.Close()
	if contains(t, "the secret", []byte("canary"), path, filepath.Join(dir, "seal.keys")) {
		t.Error("the secret can be read")
	}
	if info, err := os.Stat(filepath.Join(dir, "seal.keys")); err != nil ||
		info.Mode().Perm() != 0o600 {
		t.Errorf("mode of the keys: %v, %v", info.Mode(), err)
	}
}

// A Secret whose key is lost is asked for again; everything else stays.
func TestLostSealKey(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.db")
	f := open(t, path, bolt.Options{Keys: keys(t, dir, nil)})
	i := store.NewIncarnation()
	commit(t, sink(t, f, bolt.SinkOptions{}), i, 1, secret("x", canary, 1), plain("kept", "1", 1))
	f.Close()
	other := t.TempDir()
	f = open(t, path, bolt.Options{Keys: keys(t, other, nil)})
	s := sink(t, f, bolt.SinkOptions{})
	got, ok, err := s.Get(secret("x", "", 1).Key)
	if err != nil || !ok || !got.UnknownBody || got.Body != nil ||
		got.Hash == secret("x", canary, 1).Hash {
		t.Errorf("%+v, known %t, %v", got, ok, err)
	}
	if got, _, err := s.Get(plain("kept", "1", 1).Key); err != nil || got.UnknownBody {
		t.Errorf("%+v, %v", got, err)
	}
	commit(t, s, i, 2, secret("x", "next", 1))
	if got, _, err := s.Get(secret("x", "", 1).Key); err != nil || got.UnknownBody ||
		!strings.Contains(string(got.Body), "next") {
		t.Errorf("after it was sent again: %+v, %v", got, err)
	}
}

// After a Secret was removed or replaced nothing that is left on disk can open what was stored of
// it, also in freed pages.
func TestRemovedSecretsAreUnreadable(t *testing.T) {
	dir := t.TempDir()
	path, keyFile := filepath.Join(dir, "a.db"), filepath.Join(dir, "seal.keys")
	f := open(t, path, bolt.Options{Keys: keys(t, dir, nil)})
	s, i := sink(t, f, bolt.SinkOptions{KeepRemoved: true}), store.NewIncarnation()
	commit(t, s, i, 1, secret("goes", canary, 1), secret("stays", "other", 1))
	oldKeys, err := os.ReadFile(keyFile)
	if err != nil {
		t.Fatal(err)
	}
	tombstone := store.Entry{Key: secret("goes", "", 1).Key, Revision: 2, Tombstone: true}
	commit(t, s, i, 2, tombstone)
	if err := s.Forget(tombstone); err != nil {
		t.Fatal(err)
	}
	if due, err := f.RotationDue(); err != nil || !due {
		t.Fatalf("rotation due: %t, %v", due, err)
	}
	if err := f.RotateKeys(); err != nil {
		t.Fatal(err)
	}
	if due, err := f.RotationDue(); err != nil || due {
		t.Errorf("rotation due again: %t, %v", due, err)
	}
	key := oldKeys[bytes.Index(oldKeys, []byte(`"key":"`))+7:]
	key = key[:bytes.IndexByte(key, '"')]
	if contains(t, "the old key", key, path, keyFile) {
		t.Error("the old key is still there")
	}
	if got, ok, err := s.Get(secret("stays", "", 1).Key); err != nil || !ok ||
		!strings.Contains(string(got.Body), "other") {
		t.Errorf("the Secret that stays: %s, %v", got.Body, err)
	}
	f.Close()
	f = open(t, path, bolt.Options{Keys: keys(t, dir, nil)})
	if got, ok, err := sink(t, f, bolt.SinkOptions{}).Get(secret("stays", "", 1).Key); err != nil ||
		!ok || got.UnknownBody {
		t.Errorf("after a restart: %+v, %v", got, err)
	}
}

func TestWrappedKeys(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.db")
	plainKeys, err := func() ([]byte, error) {
		keys(t, dir,
			nil)
		return os.ReadFile(filepath.Join(dir, "seal.keys"))
	}()
	if err != nil {
		t.Fatal(err)
	}
	credential := []byte("from systemd")
	f := open(t, path, bolt.Options{Keys: keys(t, dir, credential)})
	commit(t, sink(t, f, bolt.SinkOptions{}), store.NewIncarnation(), 1, secret("x", canary, 1))
	f.Close()
	key := plainKeys[bytes.Index(plainKeys, []byte(`"key":"`))+7:][:40]
	if contains(t, "the key", key, filepath.Join(dir, "seal.keys")) {
		t.Error("the file of keys is not encrypted")
	}
	for _, wrong := range [][]byte{nil, []byte("another")} {
		if _, err := bolt.OpenKeys(filepath.Join(dir, "seal.keys"), wrong); !errors.Is(err,
			bolt.ErrKeys) {
			t.Errorf("with %q: %v", wrong, err)
		}
	}
	f = open(t, path, bolt.Options{Keys: keys(t, dir, credential)})
	if got, _, err := sink(t, f, bolt.SinkOptions{}).Get(secret("x", "", 1).Key); err != nil ||
		got.UnknownBody {
		t.Errorf("%+v, %v", got, err)
	}
}

// A file of format 1, with the one key of its time, is migrated.
func TestMigration(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.db")
	if err := os.WriteFile(filepath.Join(dir, "seal.key"), bytes.Repeat([]byte{7}, 32),
		0o600); err != nil {
		t.Fatal(err)
	}
	f := open(t, path, bolt.Options{Keys: keys(t, dir, nil)})
	s, i := sink(t, f, bolt.SinkOptions{}), store.NewIncarnation()
	commit(t, s, i, 1, secret("x", canary, 1), plain("y", "1", 1))
	root := s.Root()
	f.Close()
	asFormat1(t, path)
	if err := os.Remove(filepath.Join(dir, "seal.keys")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		f = open(t, path, bolt.Options{Keys: keys(t, dir, nil)})
		s = sink(t, f, bolt.SinkOptions{})
		if got, _, err := s.Get(secret("x", "", 1).Key); err != nil || got.UnknownBody ||
			!strings.Contains(string(got.Body), canary) || s.Root() != root {
			t.Errorf("%+v, %v", got, err)
		}
		f.Close()
	}
	f = open(t, path, bolt.Options{Keys: keys(t, dir, nil)})
	if err := f.RotateKeys(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "seal.key")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the old key after a rotation: %v", err)
	}
}

// asFormat1 takes the key's number out of sealed bodies.
func asFormat1(t *testing.T, path string) {
	t.Helper()
	db, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	err = db.Update(func(tx *bbolt.Tx) error {
		b := tx.Bucket([]byte("desired"))
		puts := map[string][]byte{}
		err := b.ForEach(func(k, v []byte) error {
			if v[0]&4 == 0 {
				return nil
			}
			at := bytes.Index(v, []byte{0, 0, 0, 0})
			if at < 0 {
				return errors.New("no number 0 in the sealed body")
			}
			puts[string(k)] = append(bytes.Clone(v[:at]), v[at+4:]...)
			return nil
		})
		for k, v := range puts {
			err = errors.Join(err, b.Put([]byte(k), v))
		}
		meta := tx.Bucket([]byte("meta"))
		return errors.Join(err, meta.Delete([]byte("clean")),
			meta.Put([]byte("format"), binary.BigEndian.AppendUint32(nil, 1)))
	})
	if err != nil {
		t.Fatal(err)
	}
}

func plain(name, value string, revision int64) store.Entry {
	body := []byte(fmt.Sprintf(`{"apiVersion":"v1","data":{"value":%q},"kind":"ConfigMap"}`, value))
	return store.Entry{Key: store.Key{Space: "s", Resource: "configmaps", Namespace: "n",
		Name: name}, Revision: revision, Body: body, Hash: store.HashBody(0, body)}
}
