// Package replicasetdiff takes out of the report of a ReplicaSet what its parent knows already:
// labels, selector and template, which are most of it and come from the Deployment that the parent
// has sent.
//
//	source, ok := replicasetdiff.Of(deployment, uid, key)    // both ends
//	diff, ok := source.Diff(replicaSet)                      // the child
//	whole, err := source.Whole(diff)                         // the parent
//
// A Source has a name made of just the parts that Diff leaves out. A report names its source, so
// that it is never completed from another version of the Deployment. The package is pure.
package replicasetdiff

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"skerry.dev/skerry/store"
)

// ErrDiff is returned for a rest that was not taken from this source, or is none.
var ErrDiff = errors.New("it does not complete what the Deployment says")

// Names that Kubernetes gives what a Deployment's controller writes on its ReplicaSets.
const (
	labelHash         = "pod-template-hash"
	annotationDesired = "deployment.kubernetes.io/desired-replicas"
	annotationMax     = "deployment.kubernetes.io/max-replicas"
)

// Source is what a ReplicaSet has from its Deployment.
type Source struct {
	// Name tells Sources of one Deployment apart: the first 48 bits of a hash of all that Diff
	// leaves out.
	Name string

	key                store.Key
	hash               string // of the template, as the ReplicaSet's name ends with it
	owner              map[string]any
	selector, template map[string]any
}

// Owner is the Deployment that a ReplicaSet of this name belongs to, if any does.
func Owner(replicaSet store.Key) (store.Key, bool) {
	i := strings.LastIndexByte(replicaSet.Name, '-')
	if replicaSet.Group != "apps" || replicaSet.Resource != "replicasets" || i <= 0 {
		return store.Key{}, false
	}
	owner := replicaSet
	owner.Resource, owner.Name = "deployments", replicaSet.Name[:i]
	return owner, true
}

// Of reads a Deployment's desired body. The UID is that of the Deployment in the parent's space. It
// is false for what is no body of the Deployment that the ReplicaSet is named after.
func Of(body []byte, uid string, replicaSet store.Key) (Source, bool) {
	owner, ok := Owner(replicaSet)
	if !ok {
		return Source{}, false
	}
	var is struct {
		APIVersion, Kind string
		Spec             struct{ Selector, Template json.RawMessage }
	}
	if json.Unmarshal(body, &is) != nil || is.Kind != "Deployment" {
		return Source{}, false
	}
	s := Source{key: replicaSet, hash: replicaSet.Name[len(owner.Name)+1:], owner: map[string]any{
		"apiVersion": is.APIVersion, "kind": is.Kind, "name": owner.Name, "uid": uid,
		"controller": true, "blockOwnerDeletion": true,
	}}
	var errs [2]error
	s.selector, errs[0] = decode(is.Spec.Selector)
	s.template, errs[1] = decode(is.Spec.Template)
	if errors.Join(errs[:]...) != nil {
		return Source{}, false
	}
	sum := sha256.New()
	for _, part := range [][]byte{[]byte(is.APIVersion), is.Spec.Selector, is.Spec.Template} {
		fmt.Fprintf(sum, "%d:", len(part))
		sum.Write(part)
	}
	s.Name = base64.RawURLEncoding.EncodeToString(sum.Sum(nil)[:6])
	return s, true
}

// Diff is what a ReplicaSet, as JSON without its status, has beside what it has from its
// Deployment. It is false when something of that is missing or different: then the ReplicaSet is of
// another version, or somebody changed it.
func (s Source) Diff(replicaSet []byte) ([]byte, bool) {
	object, err := decode(replicaSet)
	if err != nil {
		return nil, false
	}
	replicas, _ := sub(object, "spec")["replicas"].(json.Number)
	rest, ok := subtract(object, s.predict(replicas))
	if !ok {
		return nil, false
	}
	if spec := sub(rest, "spec"); spec == nil {
		rest["spec"] = map[string]any{"replicas": replicas}
	} else {
		spec["replicas"] = replicas
	}
	raw, err := json.Marshal(rest)
	if err != nil {
		return nil, false
	}
	back, err := s.whole(raw)
	return raw, err == nil && reflect.DeepEqual(back, object)
}

// Whole is the inverse of Diff; nulls are left out and the order of fields is the alphabet's.
func (s Source) Whole(rest []byte) ([]byte, error) {
	object, err := s.whole(rest)
	if err != nil {
		return nil, err
	}
	return json.Marshal(object)
}

func (s Source) whole(raw []byte) (map[string]any, error) {
	rest, err := decode(raw)
	if err != nil {
		return nil, err
	}
	replicas, ok := sub(rest, "spec")["replicas"].(json.Number)
	if !ok {
		return nil, fmt.Errorf("%w: no replicas", ErrDiff)
	}
	delete(sub(rest, "spec"), "replicas")
	object, ok := add(s.predict(replicas), rest).(map[string]any)
	if !ok {
		return nil, ErrDiff
	}
	return object, nil
}

// predict is the ReplicaSet that the Deployment's controller makes first, for a number of replicas.
// What of it may differ without harm is no more than likely: Diff corrects it.
func (s Source) predict(replicas json.Number) map[string]any {
	selector, template := clone(s.selector), clone(s.template)
	labels := within(within(template, "metadata"), "labels")
	within(selector, "matchLabels")[labelHash] = s.hash
	labels[labelHash] = s.hash
	n, _ := replicas.Int64() // 0 for what is none
	return map[string]any{
		"apiVersion": "apps/v1", "kind": "ReplicaSet",
		"metadata": map[string]any{
			"name": s.key.Name, "namespace": s.key.Namespace, "labels": clone(labels),
			"ownerReferences": []any{clone(s.owner)},
			"annotations": map[string]any{annotationDesired: replaceable(replicas.String()),
				// 25 % of surge
				annotationMax:            replaceable(strconv.FormatInt(n+(n+3)/4, 10)),
				store.DeploymentRevision: replaceable("1")},
		},
		"spec": map[string]any{"replicas": replicas, "selector": selector, "template": template},
	}
}

func sub(m map[string]any, field string) map[string]any {
	v, _ := m[field].(map[string]any)
	return v
}

// within is the object in a field, made where there is none.
func within(m map[string]any, field string) map[string]any {
	v := sub(m, field)
	if v == nil {
		v = map[string]any{}
		m[field] = v
	}
	return v
}

// decode reads a JSON object, numbers as they stand and without nulls, which say the same as
// nothing.
func decode(raw []byte) (map[string]any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var out map[string]any
	if err := d.Decode(&out); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDiff, err)
	}
	if out == nil {
		out = map[string]any{}
	}
	withoutNulls(out)
	return out, nil
}
