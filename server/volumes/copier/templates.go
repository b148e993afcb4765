package copier

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/volumes"
	"skerry.dev/skerry/store"
)

// resolve puts in the place of a StatefulSet the claims that its templates have made. The movers say what these are,
// once all are there: the claims of the new target are shown beside them then, and after a restart not all may be.
func (m *moving) resolve(
	ctx context.Context, client kubernetes.Interface, is *volumes.Move, movers []appsv1.Deployment,
) ([]volumes.Claim, error) {
	var out []volumes.Claim
	for _, c := range is.Claims {
		if !c.Templates {
			k := store.Key{Space: is.Space, Resource: "persistentvolumeclaims", Namespace: c.Namespace, Name: c.Name}
			claim, err := m.c.cfg.API.Get(ctx, k, "v1")
			if err != nil {
				return nil, fmt.Errorf("read claim %s: %w", c.Name, err)
			}
			if c.OnePod, err = copyable(c.Name, fields.Map(claim, "spec"), is.Standby); err != nil {
				return nil, err
			}
			out = append(out, c)
			continue
		}
		set, err := m.c.cfg.API.Get(ctx, c.User, c.UserVersion)
		if err != nil {
			return nil, fmt.Errorf("read StatefulSet %s: %w", c.Name, err)
		}
		if fields.String(set, "spec", "persistentVolumeClaimRetentionPolicy", "whenDeleted") == "Delete" {
			return nil, fmt.Errorf("StatefulSet %s would take its claims along when it is stopped: set "+
				"spec.persistentVolumeClaimRetentionPolicy.whenDeleted to Retain", c.Name)
		}
		made := known(movers, c)
		if made == nil || is.Standby {
			if made, err = m.made(ctx, client, is, c, set); err != nil {
				return nil, err
			}
		}
		onePod := map[string]bool{} // by the name of the template
		for t := range fields.Maps(set, "spec", "volumeClaimTemplates") {
			alone, err := copyable(c.Name, fields.Map(t, "spec"), is.Standby)
			if err != nil {
				return nil, err
			}
			onePod[fields.String(t, "metadata", "name")] = alone
		}
		for i := range made {
			one := c
			one.Templates, one.Name, one.Made, one.OnePod = false, made[i].Name, &made[i], onePod[made[i].Template]
			out = append(out, one)
		}
	}
	return out, nil
}

// made are the claims of a StatefulSet that the space shows from the target that is left, and those that are
// replicated: what a standby has may be shown in the place of what the app has.
func (m *moving) made(
	ctx context.Context, client kubernetes.Interface, is *volumes.Move, c volumes.Claim, set map[string]any,
) ([]store.MoverClaim, error) {
	made, err := shown(ctx, client, is, c, set)
	if err != nil {
		return nil, err
	}
	list, err := client.AppsV1().Deployments(c.Namespace).List(ctx, metav1.ListOptions{
		LabelSelector: "app.kubernetes.io/component=" + volumes.Component})
	if err != nil {
		return nil, fmt.Errorf("list the movers: %w", err)
	}
	for _, d := range list.Items {
		mark, _ := volumes.ParseMark(d.Annotations[v1alpha1.AnnotationMover])
		claim := store.MoverClaim{}
		if mark.Unit == is.Unit && mark.From == is.FromUID && mark.Side == volumes.SideSource &&
			json.Unmarshal([]byte(d.Annotations[store.AnnotationMoverClaim]), &claim) == nil && claim.Set == c.Name &&
			!slices.ContainsFunc(made, func(m store.MoverClaim) bool { return m.Name == claim.Name }) {
			made = append(made, claim)
		}
	}
	return complete(is, c, made)
}

// complete has each claim of a StatefulSet know how many there are.
func complete(is *volumes.Move, c volumes.Claim, made []store.MoverClaim) ([]store.MoverClaim, error) {
	if len(made) == 0 {
		return nil, fmt.Errorf("no claim of StatefulSet %s is shown from %s yet", c.Name, is.From)
	}
	for i := range made {
		made[i].Of = len(made)
	}
	slices.SortFunc(made, func(a, b store.MoverClaim) int { return strings.Compare(a.Name, b.Name) })
	return made, nil
}

// copyable refuses a claim that no mover can mount, or none beside the app where it is to be (beside). It reports
// whether a claim is for one Pod alone.
func copyable(name string, spec map[string]any, beside bool) (onePod bool, err error) {
	if volumes.IsBlock(spec) {
		return false, fmt.Errorf("%s is a raw block volume (volumeMode: Block), and only files are copied", name)
	}
	onePod = volumes.IsOnePod(spec)
	if onePod && beside {
		return true, fmt.Errorf("%s is for one Pod alone (ReadWriteOncePod), so nothing can copy it beside the app", name)
	}
	return onePod, nil
}

// known are the claims of a StatefulSet that its movers at the target that is left name, nil while some are missing.
func known(movers []appsv1.Deployment, c volumes.Claim) (out []store.MoverClaim) {
	for _, d := range movers {
		claim := store.MoverClaim{}
		if d.Namespace == c.Namespace && json.Unmarshal([]byte(d.Annotations[store.AnnotationMoverClaim]), &claim) == nil &&
			claim.Set == c.Name {
			out = append(out, claim)
		}
	}
	if len(out) == 0 || len(out) < out[0].Of {
		return nil
	}
	slices.SortFunc(out, func(a, b store.MoverClaim) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// shown are the claims of a StatefulSet that the space shows from the target that is left.
func shown(
	ctx context.Context, client kubernetes.Interface, is *volumes.Move, c volumes.Claim, set map[string]any,
) ([]store.MoverClaim, error) {
	templates := map[string]map[string]any{}
	for t := range fields.Maps(set, "spec", "volumeClaimTemplates") {
		templates[fields.String(t, "metadata", "name")] = fields.Map(t, "spec")
	}
	list, err := client.CoreV1().PersistentVolumeClaims(c.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list the claims of namespace %s: %w", c.Namespace, err)
	}
	var out []store.MoverClaim
	for _, claim := range list.Items {
		if claim.Annotations[v1alpha1.AnnotationReportedFrom] != is.From || claim.Status.Phase != corev1.ClaimBound {
			continue
		}
		name, made := store.ClaimTemplate(claim.Name, c.Name)
		template, known := templates[name]
		if !made || !known {
			continue
		}
		spec := map[string]any{"accessModes": claim.Spec.AccessModes, "resources": claim.Spec.Resources}
		for _, name := range []string{"storageClassName", "volumeMode"} {
			if v, ok := template[name]; ok {
				spec[name] = v
			}
		}
		text, err := json.Marshal(spec)
		if err != nil {
			return nil, fmt.Errorf("encode the spec of claim %s: %w", claim.Name, err)
		}
		out = append(out, store.MoverClaim{Name: claim.Name, Set: c.Name, Template: name, Labels: claim.Labels,
			Spec: text})
	}
	return out, nil
}
