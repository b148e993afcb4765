package gateway

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"skerry.dev/skerry/tunnel/keyfile"
)

// record is the agent's own word about the tokens that it has kept in Secrets, by their hashes. What
// stands in a Secret is believed by this alone: others at the target may write there.
type record struct{ path string }

// recorded is one account in the file.
type recorded struct {
	Space     string    `json:"space"`
	Namespace string    `json:"namespace"`
	Account   string    `json:"account"`
	At        string    `json:"at"`
	Sums      []string  `json:"sums"` // of the token, and of the one before, in hex
	RenewAt   time.Time `json:"renewAt"`
}

// maxRecord bounds the file, and with it what is read of a damaged disk.
const maxRecord = 8 << 20

func openRecord(dir string) record { return record{filepath.Join(dir, "accounts.json")} }

// read returns what is recorded; nothing where there is no file. One that cannot be read is an
// error: its tokens are asked for anew.
func (r record) read() (map[identity]*account, error) {
	f, err := os.Open(r.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxRecord+1))
	if err != nil {
		return nil, err
	}
	return decodeRecord(data)
}

func decodeRecord(data []byte) (map[identity]*account, error) {
	if len(data) > maxRecord {
		return nil, errors.New("it is too long")
	}
	var list []recorded
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, err
	}
	out := map[identity]*account{}
	for _, k := range list {
		a := &account{at: k.At, renewAt: k.RenewAt, unread: true}
		for _, text := range k.Sums[:min(len(k.Sums), 2)] {
			sum, err := hex.DecodeString(text)
			if err != nil || len(sum) != sha256.Size {
				return nil, fmt.Errorf("%q is no hash of a token", text)
			}
			a.sums = append(a.sums, [sha256.Size]byte(sum))
		}
		if k.Space == "" || k.Namespace == "" || k.Account == "" || k.At == "" {
			return nil, errors.New("an account has no name")
		}
		out[identity{k.Space, k.Namespace, k.Account}] = a
	}
	return out, nil
}

// write replaces what is recorded.
func (r record) write(accounts map[identity]*account) error {
	list := make([]recorded, 0, len(accounts))
	for who, a := range accounts {
		if len(a.sums) == 0 {
			continue
		}
		k := recorded{Space: who.space, Namespace: who.namespace, Account: who.name, At: a.at, RenewAt: a.renewAt}
		for _, sum := range a.sums {
			k.Sums = append(k.Sums, hex.EncodeToString(sum[:]))
		}
		list = append(list, k)
	}
	slices.SortFunc(list, func(a, b recorded) int {
		return strings.Compare(a.Space+"/"+a.Namespace+"/"+a.Account, b.Space+"/"+b.Namespace+"/"+b.Account)
	})
	data, err := json.Marshal(list)
	if err != nil {
		return err
	}
	return keyfile.Replace(r.path, data)
}
