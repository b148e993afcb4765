package apply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
)

// definitionVersions are the versions of a CustomResourceDefinition.
type definitionVersions struct {
	Spec struct {
		Group string `json:"group"`
		Names struct {
			Plural string `json:"plural"`
		} `json:"names"`
		Versions []struct {
			Name    string `json:"name"`
			Served  bool   `json:"served"`
			Storage bool   `json:"storage"`
		} `json:"versions"`
	} `json:"spec"`
	Status struct {
		StoredVersions []string `json:"storedVersions"`
	} `json:"status"`
}

func (d *definitionVersions) names() (out []string) {
	for _, v := range d.Spec.Versions {
		out = append(out, v.Name)
	}
	return out
}

func (d *definitionVersions) storage() string {
	for _, v := range d.Spec.Versions {
		if v.Storage {
			return v.Name
		}
	}
	return ""
}

// storageMigration is what has to be done before a definition can lose versions.
type storageMigration struct {
	// Lost are versions in which objects may be stored, and which are to go.
	Lost []string
	// First is a definition that has to be applied before: it stores in the wished version, and still
	// has those that go. Nil where the one that is there does.
	First []byte
	// Resource is how the objects are listed and stored again.
	Resource target.Resource
	// Stored are the versions in which objects are stored after that.
	Stored []string
}

// planMigration compares a definition that is there with the wished one, both as JSON. It returns nil
// where no version goes in which objects may be stored.
func planMigration(live, wished []byte) (*storageMigration, error) {
	var was, will definitionVersions
	if err := errors.Join(json.Unmarshal(live, &was), json.Unmarshal(wished, &will)); err != nil {
		return nil, fmt.Errorf("read the versions of a definition: %w", err)
	}
	m := &storageMigration{Stored: []string{will.storage()}}
	for _, v := range was.Status.StoredVersions {
		if !slices.Contains(will.names(), v) {
			m.Lost = append(m.Lost, v)
		}
	}
	if len(m.Lost) == 0 || will.storage() == "" {
		return nil, nil
	}
	m.Resource = target.Resource{Group: will.Spec.Group, Plural: will.Spec.Names.Plural}
	for _, v := range will.Spec.Versions {
		if v.Served && (m.Resource.Version == "" || v.Storage) {
			m.Resource.Version = v.Name // one that is served, and best the one that is stored
		}
	}
	if was.storage() == will.storage() {
		return m, nil
	}
	var err error
	m.First, err = withVersionsOf(wished, live, m.Lost)
	return m, err
}

// withVersionsOf returns a definition that also has versions of another, in which nothing is stored
// any more.
func withVersionsOf(wished, live []byte, lost []string) ([]byte, error) {
	var to, from map[string]any
	if err := errors.Join(json.Unmarshal(wished, &to), json.Unmarshal(live, &from)); err != nil {
		return nil, fmt.Errorf("read a definition: %w", err)
	}
	spec, _ := to["spec"].(map[string]any)
	old, _ := from["spec"].(map[string]any)
	versions, _ := spec["versions"].([]any)
	before, _ := old["versions"].([]any)
	for _, v := range before {
		version, _ := v.(map[string]any)
		if name, _ := version["name"].(string); slices.Contains(lost, name) {
			version["storage"] = false
			versions = append(versions, version)
		}
	}
	spec["versions"] = versions
	return json.Marshal(to)
}

// storageSwitch is how long an API server is given to store in another version: it follows its definitions
// in the background.
const storageSwitch = 5 * time.Second

// refusesVersions reports whether a target refuses a definition because objects may be stored in a
// version that it lacks.
func refusesVersions(err error) bool {
	return apierrors.IsInvalid(err) && strings.Contains(err.Error(), "status.storedVersions")
}

// storeAnew has the target store all objects of a definition in the storage version that is wished,
// and says so in the status of the definition, so that it can lose other versions. In the space that
// was done before the versions were taken out. Objects are written as the space that has brought them.
func (a *Applier) storeAnew(ctx context.Context, t *task) error {
	at, whole, err := t.read(ctx)
	if err != nil || whole == nil {
		return err
	}
	live, err := json.Marshal(whole)
	if err != nil {
		return fmt.Errorf("encode the definition: %w", err)
	}
	m, err := planMigration(live, t.Body)
	if err != nil || m == nil {
		return err
	}
	if m.First != nil {
		on := target.Applying{UID: t.record.UID, ResourceVersion: at.Metadata.ResourceVersion}
		if _, err := a.put(ctx, t, m.First, on); err != nil {
			return fmt.Errorf("store in another version: %w", err)
		}
		return &laterError{storageSwitch}
	}
	var objects []*target.Object
	listing := target.Listing{Resource: m.Resource, MetadataOnly: true}
	if _, err := t.client.List(ctx, listing, func(o *target.Object) error {
		objects = append(objects, o)
		return nil
	}); err != nil {
		return fmt.Errorf("list what is stored in version %s: %w", strings.Join(m.Lost, ", "), err)
	}
	for _, o := range objects {
		writer := t.client // what no space has brought is written as the agent
		if space := o.OriginSpace(); space != "" {
			writer = a.Gate.Accounts.Writer(t.client, store.Key{Space: space, Group: m.Resource.Group,
				Resource: m.Resource.Plural, Namespace: o.Metadata.Namespace, Name: o.Metadata.Name})
		}
		if err := writer.StoreAnew(ctx, m.Resource, o); err != nil && !isNotThere(err) {
			return fmt.Errorf("store %s/%s anew: %w", m.Resource.Plural, o.Metadata.Name, err)
		}
	}
	now, _, err := t.read(ctx)
	if err != nil || now == nil {
		return err
	}
	if err := t.writer.SetStoredVersions(ctx, t.resource, now, m.Stored); err != nil {
		return fmt.Errorf("say in which version objects are stored: %w", err)
	}
	a.Log.Info("objects are stored in another version", "definition", t.Key.Name, "objects", len(objects),
		"lost", m.Lost, "stored", m.Stored)
	return nil
}
