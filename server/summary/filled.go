package summary

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// filledBy is what the target that was decided for first has filled in of an object of this kind, nil for nothing: where there are several it speaks for
// all, as it does for the names of Pods.
func filledBy(k store.Key, reports []*store.Report) *store.Filled {
	if len(reports) == 0 || reports[0] == nil || reports[0].Filled == nil {
		return nil
	}
	f := *reports[0].Filled
	switch {
	case isDeployment(k) && f.Revision > 0:
		return &store.Filled{Revision: f.Revision}
	case isService(k) && (f.ClusterIP != "" || len(f.NodePorts) > 0):
		return &store.Filled{ClusterIP: f.ClusterIP, NodePorts: f.NodePorts}
	}
	return nil
}

// filledSum tells one Filled from another; 0 is nothing.
func filledSum(f *store.Filled) uint64 {
	if f == nil {
		return 0
	}
	h := fnv.New64a()
	h.Write(encode(f))
	return h.Sum64() | 1
}

// shownRevision is the Filled that a Deployment shows, nil when it shows none.
func shownRevision(obj map[string]any) *store.Filled {
	meta, _ := obj["metadata"].(map[string]any)
	notes, _ := meta["annotations"].(map[string]any)
	text, _ := notes[store.DeploymentRevision].(string)
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || strconv.FormatInt(n, 10) != text {
		return nil
	}
	return &store.Filled{Revision: n}
}

func isDeployment(k store.Key) bool { return k.Group == "apps" && k.Resource == "deployments" }

func isService(k store.Key) bool { return k.Group == "" && k.Resource == "services" }

// seeFilled takes over what a write says of what is filled in. Of a Service it only forgets: what it has then is looked up when it is written.
// The caller holds the lock.
func (n *shown) seeFilled(k store.Key, obj map[string]any, echo bool) {
	switch {
	case isDeployment(k):
		n.filled = filledSum(shownRevision(obj))
	case !echo:
		n.filled = 0
	}
}

// fill writes what the target has filled in, when the object does not show it already. The revision of a Deployment goes with its status where that is
// written anyway, and as Kubernetes writes it: with the status, so that it makes no new generation.
func (s *Summary) fill(ctx context.Context, at placement.Located, f *store.Filled) error {
	s.mu.Lock()
	before := s.shown[at.Key].filled
	s.mu.Unlock()
	if f == nil || before == filledSum(f) {
		return nil
	}
	defer s.begin(at.Key)()
	subresource, patch := "status", encode(map[string]any{"metadata": map[string]any{"uid": at.UID,
		"annotations": map[string]any{store.DeploymentRevision: strconv.FormatInt(f.Revision, 10)}}})
	if isService(at.Key) {
		obj, err := s.cfg.API.Get(ctx, at.Key, at.APIVersion)
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("read %s before its addresses are written: %w", at.Key, err)
		}
		subresource, patch = "", allocate(obj, at.UID, f)
	}
	var obj map[string]any
	if patch != nil {
		var err error
		obj, err = s.cfg.API.Patch(ctx, at.Key, at.APIVersion, subresource, patch)
		switch {
		case apierrors.IsNotFound(err):
			return nil
		case apierrors.IsInvalid(err): // of another object by now, or nothing that a Service can have
			s.cfg.Log.Warn("space does not take what a target filled in", "key", at.Key.String(), "err", err)
		case err != nil:
			return fmt.Errorf("fill in %s: %w", at.Key, err)
		}
	}
	s.learn(at.Key, func(n *shown) {
		n.filled = filledSum(f)
		if revision := revisionOf(obj); obj != nil && revision >= n.revision {
			n.now, n.revision = statusOf(obj), revision
		}
	})
	return nil
}

// allocate is the JSON patch after which a Service shows the addresses that a target gave it; nil when it does. Which ports are the target's choice, and
// not a user's wish to be sent, stands in an annotation.
func allocate(obj map[string]any, uid string, f *store.Filled) []byte {
	meta, _ := obj["metadata"].(map[string]any)
	spec, _ := obj["spec"].(map[string]any)
	if meta["uid"] != uid || spec == nil {
		return nil
	}
	var ops []any
	set := func(path string, v any) { ops = append(ops, map[string]any{"op": "add", "path": path, "value": v}) }
	if ip, _ := spec["clusterIP"].(string); f.ClusterIP != "" && ip != f.ClusterIP && ip != "None" && spec["type"] != "ExternalName" {
		set("/spec/clusterIP", f.ClusterIP)
		set("/spec/clusterIPs", []any{f.ClusterIP})
	}
	notes, _ := meta["annotations"].(map[string]any)
	was, _ := notes[v1alpha1.AnnotationNodePorts].(string)
	var now []string
	ports, _ := spec["ports"].([]any)
	for i, p := range ports {
		port, _ := p.(map[string]any)
		have := strconv.FormatInt(int64(num(port["nodePort"])), 10)
		theirs := have == "0" || slices.Contains(strings.Split(was, ","), have)
		got := nodePortOf(f, port)
		if !theirs || got == 0 {
			continue
		}
		text := strconv.FormatInt(got, 10)
		if now = append(now, text); text != have {
			set(fmt.Sprintf("/spec/ports/%d/nodePort", i), got)
		}
	}
	switch text := strings.Join(now, ","); {
	case text == was:
	case notes == nil:
		set("/metadata/annotations", map[string]any{v1alpha1.AnnotationNodePorts: text})
	default:
		set("/metadata/annotations/"+strings.ReplaceAll(v1alpha1.AnnotationNodePorts, "/", "~1"), text)
	}
	if len(ops) == 0 {
		return nil
	}
	set("/metadata/resourceVersion", meta["resourceVersion"])
	return encode(append([]any{map[string]any{"op": "test", "path": "/metadata/uid", "value": uid}}, ops...))
}

func nodePortOf(f *store.Filled, port map[string]any) int64 {
	protocol, _ := port["protocol"].(string)
	for _, p := range f.NodePorts {
		if p.Port == int64(num(port["port"])) && p.Protocol == protocol {
			return p.NodePort
		}
	}
	return 0
}

// revisionOp is the operation that writes a Deployment's revision beside its status, nil when there is nothing to write.
func revisionOp(k store.Key, before shown, f *store.Filled) map[string]any {
	if f == nil || !isDeployment(k) || before.filled == filledSum(f) {
		return nil
	}
	return map[string]any{"op": "add", "path": "/metadata/annotations/" + strings.ReplaceAll(store.DeploymentRevision, "/", "~1"),
		"value": strconv.FormatInt(f.Revision, 10)}
}
