package summary

import (
	"context"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"skerry.dev/skerry/server/customize"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// filledBy is what the target that was decided for first has filled in of an object of this kind,
// nil for nothing: where there are several it speaks for all, as it does for the names of Pods.
func filledBy(k store.Key, reports []*store.Report) *store.Filled {
	if len(reports) == 0 || reports[0] == nil {
		return nil
	}
	var f store.Filled
	if filled := reports[0].Filled; filled != nil {
		f = *filled
	}
	switch {
	case isDeployment(k) && f.Revision > 0:
		return &store.Filled{Revision: f.Revision}
	case k.IsService() && (f.ClusterIP != "" || len(f.NodePorts) > 0 || f.HealthCheckNodePort > 0 || len(
		f.IPFamilies,
	) > 0 || f.IPFamilyPolicy != ""):
		return &store.Filled{ClusterIP: f.ClusterIP, NodePorts: f.NodePorts, HealthCheckNodePort: f.HealthCheckNodePort,
			IPFamilies: f.IPFamilies, IPFamilyPolicy: f.IPFamilyPolicy}
	case isPod(k):
		return &store.Filled{Controller: f.Controller}
	case isClaim(k): // on the next target it has no volume until it gets another one
		return &store.Filled{VolumeName: f.VolumeName, StorageClass: f.StorageClass}
	}
	return nil
}

// filledSum tells one Filled from another; 0 is nothing.
func filledSum(f *store.Filled) uint64 {
	if f == nil {
		return 0
	}
	text := encode(f)
	if string(text) == "{}" {
		return 0
	}
	h := fnv.New64a()
	h.Write(text)
	return h.Sum64() | 1
}

// shownRevision is the Filled that a Deployment shows, nil when it shows none.
func shownRevision(obj map[string]any) *store.Filled {
	meta := fields.Map(obj, "metadata")
	notes := fields.Map(meta, "annotations")
	text := fields.String(notes, store.DeploymentRevision)
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || strconv.FormatInt(n, 10) != text {
		return nil
	}
	return &store.Filled{Revision: n}
}

func isDeployment(k store.Key) bool { return k.Group == "apps" && k.Resource == "deployments" }

func isClaim(k store.Key) bool { return k.Group == "" && k.Resource == "persistentvolumeclaims" }

// shownVolume is the Filled that a claim shows, nil when it shows none.
func shownVolume(obj map[string]any) *store.Filled {
	if chosen := customize.Chosen(obj); chosen.VolumeName != "" || chosen.StorageClass != "" {
		return &store.Filled{VolumeName: chosen.VolumeName, StorageClass: chosen.StorageClass}
	}
	return nil
}

// observeFilledLocked takes over what a write says of what is filled in. Of a Service it only
// forgets: what it has then is looked up when it is written. Summary.mu must be held.
func (n *shown) observeFilledLocked(k store.Key, obj map[string]any, echo bool) {
	switch {
	case isDeployment(k):
		n.filled = filledSum(shownRevision(obj))
	case isClaim(k):
		n.filled = filledSum(shownVolume(obj))
	case isPod(k):
		n.filled = filledSum(shownController(obj))
	case !echo:
		n.filled = 0
	}
}

// fill writes what the target has filled in, when the object does not show it already. The revision
// of a Deployment goes with its status where that is written anyway, and as Kubernetes writes it:
// with the status, so that it makes no new generation.
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
	if !isDeployment(at.Key) {
		obj, err := s.cfg.API.Get(ctx, at.Key, at.APIVersion)
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("read %s before what its target has chosen is written: %w", at.Key, err)
		}
		chosen := *f
		if chosen.Controller, err = (takeover{s.cfg.API, s.cfg.Delivery}).mayControl(ctx, at, f.Controller); err != nil {
			return err
		}
		subresource, patch = "", allocate(obj, at.UID, &chosen)
	}
	var obj map[string]any
	if patch != nil {
		var err error
		obj, err = s.cfg.API.Patch(ctx, at.Key, at.APIVersion, subresource, patch)
		switch {
		case apierrors.IsNotFound(err):
			return nil
		case apierrors.IsInvalid(err): // of another object by now, or nothing that it can have
			s.cfg.Log.Warn("space does not take what a target filled in", "key", at.Key.String(), "err", err)
		case err != nil:
			return fmt.Errorf("fill in %s: %w", at.Key, err)
		}
	}
	s.update(at.Key, func(n *shown) {
		n.filled = filledSum(f)
		if revision := revisionOf(obj); obj != nil && revision >= n.revision {
			n.now, n.revision = statusOf(obj), revision
		}
	})
	return nil
}

// revisionOp is the operation that writes a Deployment's revision beside its status, nil when there
// is nothing to write.
func revisionOp(k store.Key, before shown, f *store.Filled) map[string]any {
	if f == nil || !isDeployment(k) || before.filled == filledSum(f) {
		return nil
	}
	return map[string]any{
		"op":    "add",
		"path":  "/metadata/annotations/" + strings.ReplaceAll(store.DeploymentRevision, "/", "~1"),
		"value": strconv.FormatInt(f.Revision, 10),
	}
}
