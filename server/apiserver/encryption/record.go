package encryption

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.etcd.io/etcd/client/v3/kubernetes"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/storage/value"
)

// RecordKey is the record's key in the store.
const RecordKey = "/skerry/encryption"

// proofText is what proofs hold.
const proofText = "skerry knows this text"

// unencrypted is the ID of values that nothing has encrypted.
const unencrypted = "unencrypted"

// ErrKey is returned when stored values need a key that is not there.
var ErrKey = errors.New("the key that encrypts this center's data is missing or another one; nothing was changed")

// proof shows which key some of a resource's values need.
type proof struct {
	// ID is what stands before a value: k8s:enc:PROVIDER:VERSION:KEY, or unencrypted.
	ID string `json:"id"`
	// Value is proofText, encrypted.
	Value []byte `json:"value"`
}

// record says which keys the stored values need, by resource.
type record map[string][]proof

// prove makes the proof of what a transformer writes.
func prove(ctx context.Context, t value.Transformer) (proof, error) {
	data, err := t.TransformToStorage(ctx, []byte(proofText), value.DefaultContext(RecordKey))
	return proof{idOf(data), data}, err
}

// idOf names what has encrypted a value.
func idOf(data []byte) string {
	const parts = 5 // k8s:enc:PROVIDER:VERSION:KEY
	if fields := bytes.SplitN(data, []byte(":"), parts+1); len(fields) > parts &&
		bytes.HasPrefix(data, []byte("k8s:enc:")) {
		return string(bytes.Join(fields[:parts], []byte(":")))
	}
	return unencrypted
}

// check fails when a state, whose keys are of this key file, cannot read what the record says is
// stored.
func (r record) check(ctx context.Context, s *state, keyFile string) error {
	for name, proofs := range r {
		t := s.transformer(schema.ParseGroupResource(name))
		for _, p := range proofs {
			data, _, err := t.TransformFromStorage(ctx, p.Value, value.DefaultContext(RecordKey))
			if err == nil && string(data) == proofText {
				continue
			}
			if err == nil {
				err = errNoKey
			}
			return &missing{resource: name, id: p.ID, file: keyFile, has: s.keys, why: err}
		}
	}
	return nil
}

// missing is an ErrKey that names the key.
type missing struct {
	resource, id, file string
	has                []key
	why                error
}

// Error implements error.
func (m *missing) Error() string {
	from := "--encryption-provider-config has to name it, or its KMS to answer"
	if local, ok := strings.CutPrefix(m.id, localPrefix); ok {
		from = fmt.Sprintf("put the key %s into the key file %s again, from a backup or from where it is kept; where "+
			"another file has it, give that with --encryption-key-file or as the systemd credential", local, m.file)
		if m.file == "" {
			from = fmt.Sprintf("give the key file of the center that has the key %s with --encryption-key-file FILE", local)
		}
		for i, k := range m.has {
			if i == 0 {
				from += "; the file has "
			} else {
				from += ", "
			}
			from += k.id()
		}
	}
	return fmt.Sprintf("%s: %s are encrypted with %s: %s (%s)", ErrKey, m.resource, m.id, from, m.why)
}

// Is implements errors.Is.
func (m *missing) Is(err error) bool { return err == ErrKey }

// with returns the record with what a state writes, too, and whether that is new.
func (r record) with(ctx context.Context, s *state) (record, bool, error) {
	out, changed := record{}, false
	for name, proofs := range r {
		out[name] = slices.Clone(proofs)
	}
	for _, gr := range s.encrypted() {
		name := gr.String()
		p, err := prove(ctx, s.transformer(gr))
		if err != nil {
			return nil, false, fmt.Errorf("encrypt %s: %w", name, err)
		}
		if out[name] == nil { // what was stored before is unencrypted
			out[name] = []proof{{unencrypted, []byte(proofText)}}
		}
		if !slices.ContainsFunc(out[name], func(had proof) bool { return had.ID == p.ID }) {
			out[name], changed = append(out[name], p), true
		}
	}
	return out, changed, nil
}

// ids lists the keys that a record names, without what is unencrypted.
func (r record) ids() (out []string) {
	for _, proofs := range r {
		for _, p := range proofs {
			if p.ID != unencrypted && !slices.Contains(out, p.ID) {
				out = append(out, p.ID)
			}
		}
	}
	slices.Sort(out)
	return out
}

func readRecord(data []byte) (record, error) {
	r := record{}
	if len(data) == 0 {
		return r, nil
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, fmt.Errorf("read which keys encrypt the data: %w", err)
	}
	return r, nil
}

// load reads the record of a store and its revision, 0 when there is none.
func load(ctx context.Context, c *kubernetes.Client) (record, int64, error) {
	got, err := c.Kubernetes.Get(ctx, RecordKey, kubernetes.GetOptions{})
	if err != nil {
		return nil, 0, fmt.Errorf("read which keys encrypt the data: %w", err)
	}
	if got.KV == nil {
		return record{}, 0, nil
	}
	r, err := readRecord(got.KV.Value)
	return r, got.KV.ModRevision, err
}

// errConflict is returned by save when another replica has written the record meanwhile.
var errConflict = errors.New("another replica has changed which keys encrypt the data; try again")

func save(ctx context.Context, c *kubernetes.Client, r record, revision int64) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	put, err := c.Kubernetes.OptimisticPut(ctx, RecordKey, data, revision, kubernetes.PutOptions{GetOnFailure: true})
	if err != nil {
		return fmt.Errorf("write which keys encrypt the data: %w", err)
	}
	if !put.Succeeded {
		return errConflict
	}
	return nil
}
