package corpus

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// object is a decoded Kubernetes object.
type object map[string]any

func (o object) text(keys ...string) string {
	v := o.at(keys...)
	s, _ := v.(string)
	return s
}

func (o object) at(keys ...string) any {
	var v any = map[string]any(o)
	for _, k := range keys {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[k]
	}
	return v
}

// key names an object so that both sides' copies of it have one name: a generated name ends in *.
func (o object) key() string {
	name := o.text("metadata", "name")
	if generated := o.text("metadata", "generateName"); generated != "" && strings.HasPrefix(name, generated) {
		name = generated + "*"
	}
	if o.text("kind") == "ReplicaSet" || o.text("kind") == "ControllerRevision" {
		if hashed := strings.LastIndex(name, "-"); hashed > 0 && o.at("metadata", "ownerReferences") != nil {
			name = name[:hashed] + "-*"
		}
	}
	return o.text("kind") + "/" + normalText(name)
}

// leaves are the values of an object by their paths, without what differs between any two clusters.
func (o object) leaves() map[string]string {
	out := map[string]string{}
	flatten(out, "", map[string]any(o))
	if token := "data.token"; o.text("kind") == "Secret" && out["type"] == "kubernetes.io/service-account-token" &&
		out[token] != "" {
		out[token] = "of one cluster" // it is signed by the API that issues it
	}
	return out
}

// ignored are paths that each cluster has or has not.
var ignored = map[string]bool{
	"metadata.managedFields": true, "metadata.name": true, "metadata.selfLink": true,
	"status.observedGeneration": true, "spec.volumeName": true, "metadata.generation": true,
	"metadata.annotations.pv.kubernetes.io/bind-completed":                  true,
	"metadata.annotations.pv.kubernetes.io/bound-by-controller":             true,
	"metadata.annotations.volume.kubernetes.io/selected-node":               true,
	"metadata.annotations.volume.beta.kubernetes.io/storage-provisioner":    true,
	"metadata.annotations.volume.kubernetes.io/storage-provisioner":         true,
	"metadata.annotations.deprecated.daemonset.template.generation":         true,
	"metadata.annotations.kubectl.kubernetes.io/last-applied-configuration": true,
}

// newer are the values that the Kubernetes of a space fills in, and that of the clusters, which is a version older,
// does not.
var newer = map[string]string{
	"spec.updateStrategy.rollingUpdate.maxUnavailable": "1",
	"spec.preventPodSchedulingIfMissing":               "false",
}

// ignoredKeys are such keys, wherever they are.
var ignoredKeys = map[string]bool{
	"observedGeneration": true, "allocatedResources": true,
	"kubernetes.io/config.seen": true, "endpoints.kubernetes.io/last-change-trigger-time": true,
}

// volatileKeys are the keys of values of one cluster, wherever they are: addresses, ids, hashes.
// That there is a value is compared, and how many of them a list has.
var volatileKeys = map[string]bool{
	"uid": true, "resourceVersion": true, "nodeName": true, "nominatedNodeName": true,
	"clusterIP": true, "clusterIPs": true,
	"podIP": true, "podIPs": true, "hostIP": true, "hostIPs": true, "addresses": true,
	"containerID": true, "imageID": true, "nodePort": true, "healthCheckNodePort": true,
	"pod-template-hash": true, "controller-revision-hash": true, "controller-uid": true,
	"batch.kubernetes.io/controller-uid": true, "currentRevision": true, "updateRevision": true,
	"kubernetes.io/service-account.uid": true,
	// Certificates, and the time in helm's records of releases.
	"ca.crt": true, "release": true,
}

// presence is what is compared of a value that belongs to one cluster.
func presence(v any) any {
	switch v := v.(type) {
	case []any:
		if len(v) == 1 {
			return presence(v[0])
		}
		return fmt.Sprint(len(v), " of one cluster")
	case string:
		if v == "" || v == headless {
			return v
		}
	case nil:
		return nil
	}
	return "of one cluster"
}

// headless is the address of a headless Service.
const headless = "None"

var (
	timeKey = regexp.MustCompile(`(Time|Timestamp|At|Since)$`)
	// hashes that the controllers of Deployments and the like put into names, and suffixes of generated names.
	// In a name that was cut to 63 characters the suffix follows the hash at once.
	hashed = regexp.MustCompile(`-[bcdfghjklmnpqrstvwxz2456789]{8,15}(-[bcdfghjklmnpqrstvwxz2456789]{5})?\b`)
	suffix = regexp.MustCompile(`-[bcdfghjklmnpqrstvwxz2456789]{5}\b`)
	token  = regexp.MustCompile(`kube-api-access-\w+`)
	uuid   = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	number = regexp.MustCompile(`\b\d+(\.\d+)?(ms|s|m)\b|\b\d+\.\d+\.\d+\.\d+(:\d+)?`)
)

func normalText(s string) string {
	s = uuid.ReplaceAllString(s, "UID")
	s = token.ReplaceAllString(s, "kube-api-access-*")
	s = hashed.ReplaceAllString(s, "-*")
	return suffix.ReplaceAllString(s, "-*")
}

func flatten(out map[string]string, at string, v any) {
	switch v := v.(type) {
	case nil: // and an empty map or list: the API leaves them out or not, and they mean the same
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			flattenKey(out, at, k, v[k])
		}
	case []any:
		for i, e := range v {
			flatten(out, fmt.Sprintf("%s[%s]", at, elementKey(e, i)), e)
		}
	case string:
		out[at] = normalText(v)
		if strings.HasSuffix(at, ".message") || strings.HasSuffix(at, "essage") {
			out[at] = number.ReplaceAllString(out[at], "#")
		}
	default:
		out[at] = fmt.Sprint(v)
	}
}

func flattenKey(out map[string]string, at, key string, v any) {
	where := strings.TrimPrefix(at+"."+key, ".")
	switch {
	case ignored[where], ignoredKeys[key], strings.Contains(key, "skerry.dev/"):
		return
	case newer[where] != "" && newer[where] == fmt.Sprint(v):
		return
	case volatileKeys[key], key == "values" && strings.HasSuffix(at, "matchExpressions[pod-template-hash]"):
		v = presence(v)
	case key == "waiting":
		v = resting(v)
	case timeKey.MatchString(key):
		if _, ok := v.(string); ok {
			out[where] = "a time"
			return
		}
	}
	if list, ok := v.([]any); ok && key == "conditions" {
		v = slices.DeleteFunc(slices.Clone(list), ourCondition)
	}
	flatten(out, where, v)
}

// resting is the state of a container that waits. One whose image is nowhere is in one of two states by turns.
func resting(v any) any {
	m, _ := v.(map[string]any)
	if reason := m["reason"]; reason == "ErrImagePull" || reason == "ImagePullBackOff" {
		return map[string]any{"reason": "ErrImagePull or ImagePullBackOff"}
	}
	return v
}

// ourCondition says whether a condition is one that Skerry adds to what a cluster has.
func ourCondition(c any) bool {
	m, _ := c.(map[string]any)
	kind, _ := m["type"].(string)
	return strings.HasPrefix(kind, "skerry.dev/")
}

// elementKey names an element of a list: by its name or type where it has one, so that an order that
// means nothing makes no difference, else by its place. An address is named by its Pod, unless that has a
// generated name, as those of several addresses are the same.
func elementKey(e any, i int) string {
	m, _ := e.(map[string]any)
	for _, k := range []string{"name", "type", "mountPath", "ip", "key", "hostname"} {
		if s, ok := m[k].(string); ok {
			return normalText(s)
		}
	}
	if pod := object(m).text("targetRef", "name"); pod != "" && pod == normalText(pod) {
		return pod
	}
	return fmt.Sprint(i)
}
