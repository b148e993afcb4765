package copier

import (
	"context"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/volumes"
	"skerry.dev/skerry/store"
)

// look is how often it is looked whether a mover runs: its target reports that at once.
const look = 500 * time.Millisecond

// pods are the names of those of the movers of a claim.
type pods struct{ from, to string }

// movers makes the movers that a move needs, and waits until their Pods run. The order is that of the claims.
func (m *moving) movers(ctx context.Context, is *volumes.Move) ([]pods, error) {
	client, err := m.c.cfg.Client(is.Space)
	if err != nil {
		return nil, fmt.Errorf("reach the space: %w", err)
	}
	there, err := moversAt(ctx, client, is)
	if err != nil {
		return nil, err
	}
	if is.Claims, err = m.resolve(ctx, client, is, there); err != nil {
		return nil, err
	}
	if err := whole(is, there); err != nil {
		return nil, err
	}
	for {
		for _, c := range is.Claims {
			if err := m.make(ctx, client, is, c); err != nil {
				return nil, err
			}
		}
		sides := is.Sides()
		out, why, err := podsOf(ctx, client, is, sides[:]...)
		if err != nil || why == "" {
			return out, err
		}
		m.say(false, "%s", why)
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(look):
		}
	}
}

// moversAt are the movers of a move at the target that is left.
func moversAt(ctx context.Context, client kubernetes.Interface, is *volumes.Move) (out []appsv1.Deployment, err error) {
	list, err := client.AppsV1().Deployments(metav1.NamespaceAll).List(ctx, metav1.ListOptions{
		LabelSelector: "app.kubernetes.io/component=" + volumes.Component})
	if err != nil {
		return nil, fmt.Errorf("list the movers: %w", err)
	}
	return ofSide(list.Items, is, is.Sides()[0]), nil
}

// ofSide are the movers at one side of a move.
func ofSide(movers []appsv1.Deployment, is *volumes.Move, side volumes.Side) (out []appsv1.Deployment) {
	mark := volumes.Mark{Unit: is.Unit, From: is.FromUID, To: is.ToUID, Side: side}.String()
	for _, d := range movers {
		if d.Annotations[v1alpha1.AnnotationMover] == mark {
			out = append(out, d)
		}
	}
	return out
}

// whole makes sure that a last round leaves nothing out: what was copied before is copied again.
func whole(is *volumes.Move, movers []appsv1.Deployment) error {
	if is.Left == 0 {
		return nil
	}
	for _, d := range movers {
		known := slices.ContainsFunc(is.Claims, func(c volumes.Claim) bool {
			return c.Namespace == d.Namespace && volumes.MoverKey(is, c, volumes.SideFrom).Name == d.Name
		})
		if !known {
			return fmt.Errorf("%s does not show the claim any more that Deployment %s/%s copies", is.From, d.Namespace, d.Name)
		}
	}
	return nil
}

// make makes the movers of a claim that are not there.
func (m *moving) make(ctx context.Context, client kubernetes.Interface, is *volumes.Move, c volumes.Claim) error {
	var template map[string]any
	for _, side := range is.Sides() {
		k := volumes.MoverKey(is, c, side)
		known, err := client.AppsV1().Deployments(k.Namespace).Get(ctx, k.Name, metav1.GetOptions{})
		rests := is.Rests(c, side)
		if now := err == nil && known.Spec.Replicas != nil && *known.Spec.Replicas == 0; err == nil && now != rests {
			if rests {
				_, err = m.c.cfg.API.Patch(ctx, k, "apps/v1", "", volumes.Runs(0))
			} else {
				err = m.wakeUp(ctx, client, k, is, c, side)
			}
		}
		if err == nil {
			continue
		}
		if !apierrors.IsNotFound(err) {
			return fmt.Errorf("read %s: %w", k, err)
		}
		if template == nil {
			user, err := m.c.cfg.API.Get(ctx, c.User, c.UserVersion)
			if err != nil {
				return fmt.Errorf("read %s, which mounts %s: %w", c.User, c.Name, err)
			}
			template = volumes.TemplateOf(user)
		}
		node := ""
		if side.Reads() && !c.OnePod {
			if node, err = nodeOf(ctx, client, is, c); err != nil {
				return err
			}
		}
		o := volumes.Mover(k, is, c, side, m.c.cfg.Image, template, node)
		if rests {
			fields.Map(o, "spec")["replicas"] = int64(0)
		}
		if _, err := m.c.cfg.API.Create(ctx, k, "apps/v1", o); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create Deployment %s: %w", k.Name, err)
		}
	}
	return nil
}

// wakeUp has a mover run again. The workload beside which one replicates may run on another node now.
func (m *moving) wakeUp(
	ctx context.Context, client kubernetes.Interface, k store.Key, is *volumes.Move, c volumes.Claim, side volumes.Side,
) error {
	with := volumes.WakeUp()
	if side == volumes.SideSource {
		node, err := nodeOf(ctx, client, is, c)
		if err != nil {
			return err
		}
		with = volumes.WakeUpAt(node)
	}
	_, err := m.c.cfg.API.Patch(ctx, k, "apps/v1", "", with)
	return err
}

// nodeOf is the node of a Pod that mounts a claim at the target that is left, empty where none runs.
func nodeOf(ctx context.Context, client kubernetes.Interface, is *volumes.Move, c volumes.Claim) (string, error) {
	list, err := client.CoreV1().Pods(c.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", fmt.Errorf("list the Pods of namespace %s: %w", c.Namespace, err)
	}
	for _, p := range list.Items {
		if p.Annotations[v1alpha1.AnnotationReportedFrom] != is.From || p.Spec.NodeName == "" || p.DeletionTimestamp != nil {
			continue
		}
		for _, v := range p.Spec.Volumes {
			if v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == c.Name {
				return p.Spec.NodeName, nil
			}
		}
	}
	return "", nil
}

// podsOf finds the Pods of the movers, or says which does not run yet, and why.
func podsOf(
	ctx context.Context, client kubernetes.Interface, is *volumes.Move, sides ...volumes.Side,
) (out []pods, why string, err error) {
	for _, c := range is.Claims {
		both := map[bool]string{} // by whether it reads
		for _, side := range sides {
			if is.Rests(c, side) {
				continue
			}
			k, target := volumes.MoverKey(is, c, side), is.At(side)
			list, err := client.CoreV1().Pods(k.Namespace).List(ctx, metav1.ListOptions{
				LabelSelector: volumes.MoverLabel + "=" + k.Name})
			if err != nil {
				return nil, "", fmt.Errorf("list the Pods of %s: %w", k.Name, err)
			}
			reason, err := whyNoPod(ctx, client, k)
			if err != nil {
				return nil, "", err
			}
			running := 0
			for _, p := range list.Items {
				if p.Annotations[v1alpha1.AnnotationReportedFrom] != target || p.DeletionTimestamp != nil {
					continue
				}
				if !over(&p) {
					running++
				}
				if ready(&p) {
					both[side.Reads()] = p.Name
				} else {
					reason = reasonOf(&p)
				}
			}
			if running > 1 { // each at another target of a relay
				return nil, "", fmt.Errorf("mover %s runs %d times at %s, so there are as many volumes of %s: "+
					"have the relay place it on one of its targets", k.Name, running, target, c.Name)
			}
			if both[side.Reads()] == "" {
				refused, err := refusalOf(ctx, client, c)
				if err != nil {
					return nil, "", err
				}
				if refused != "" {
					reason = refused
				}
				return nil, fmt.Sprintf("waits for Deployment %s at %s: %s", k.Name, target, reason), nil
			}
		}
		out = append(out, pods{both[true], both[false]})
	}
	return out, "", nil
}

// whyNoPod says why a mover has no Pod.
func whyNoPod(ctx context.Context, client kubernetes.Interface, k store.Key) (string, error) {
	d, err := client.AppsV1().Deployments(k.Namespace).Get(ctx, k.Name, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return "", fmt.Errorf("read Deployment %s: %w", k.Name, err)
	}
	for _, c := range d.Status.Conditions {
		refused := c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue
		if applied := c.Type == v1alpha1.ConditionObjectSynced && c.Status == corev1.ConditionFalse; refused || applied {
			return c.Message, nil
		}
	}
	return "it has no Pod yet", nil
}

// refusalOf says why a target does not take a claim, such as for its quota: a mover waits for that, and its Pod says
// only that it is not scheduled. It is empty where none says so.
func refusalOf(ctx context.Context, client kubernetes.Interface, c volumes.Claim) (string, error) {
	claim, err := client.CoreV1().PersistentVolumeClaims(c.Namespace).Get(ctx, c.Name, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return "", fmt.Errorf("read PersistentVolumeClaim %s: %w", c.Name, err)
	}
	for _, is := range claim.Status.Conditions {
		if is.Type == v1alpha1.ConditionObjectSynced && is.Status == corev1.ConditionFalse {
			return fmt.Sprintf("PersistentVolumeClaim %s: %s", c.Name, is.Message), nil
		}
	}
	return "", nil
}

// over reports whether a Pod has ended.
func over(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodSucceeded
}

func ready(p *corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// reasonOf says why a Pod is not ready.
func reasonOf(p *corev1.Pod) string {
	for _, c := range p.Status.ContainerStatuses {
		if w := c.State.Waiting; w != nil && w.Reason != "" && w.Reason != "ContainerCreating" {
			return w.Reason + ": " + w.Message
		}
	}
	for _, c := range p.Status.Conditions {
		if c.Status == corev1.ConditionFalse && c.Type == corev1.PodScheduled && c.Message != "" {
			return c.Message
		}
	}
	return "its Pod is " + string(p.Status.Phase)
}
