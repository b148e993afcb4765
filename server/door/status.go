package door

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"skerry.dev/skerry/server/api/v1alpha1"
)

const (
	// settle is how long changes of a target's status are gathered into one write.
	settle = 200 * time.Millisecond
	// heartbeat is how often lastSeen of a connected target is written when nothing else changes.
	heartbeat = time.Minute
	// welcomeBack is how long after its start a center waits for its targets before it calls them disconnected.
	welcomeBack = 20 * time.Second
)

var syncTargets = v1alpha1.GroupVersion.WithResource("synctargets")

// keepStatus writes the status of touched targets until ctx ends, and once more for each that is connected then.
func (d *Door) keepStatus(ctx context.Context) {
	absent := time.NewTimer(welcomeBack)
	defer absent.Stop()
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	waited := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-absent.C:
			waited = true
			for _, name := range d.targets.names() {
				d.targets.touch(name)
			}
		case <-beat.C:
			d.mu.Lock()
			for name := range d.sessions {
				d.targets.touch(name)
			}
			d.mu.Unlock()
		case <-d.targets.wake:
			select {
			case <-time.After(settle):
			case <-ctx.Done():
				return
			}
			for _, name := range d.targets.take() {
				if err := d.writeStatus(ctx, name, waited); err != nil && ctx.Err() == nil {
					d.cfg.Log.Warn("the status of a target could not be written", "target", name, "err", err)
				}
			}
		}
	}
}

// writeStatus brings the status of a SyncTarget up to date. Before the center has waited for its targets, an absent one is left as it is.
func (d *Door) writeStatus(ctx context.Context, name string, waited bool) error {
	known, ok := d.targets.get(name)
	if !ok {
		return nil
	}
	var st v1alpha1.SyncTarget
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(known.object, &st); err != nil {
		return fmt.Errorf("read the SyncTarget: %w", err)
	}
	before := st.Status.DeepCopy()
	s := d.session(name)
	if s == nil {
		if !waited && apimeta.FindStatusCondition(st.Status.Conditions, v1alpha1.ConditionConnected) != nil && !d.disconnected(name) {
			return nil
		}
		d.absent(&st)
	} else {
		d.present(&st, s)
	}
	if reflect.DeepEqual(*before, st.Status) {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"status": st.Status})
	if err != nil {
		return err
	}
	client, err := d.client()
	if err != nil {
		return err
	}
	_, err = client.Resource(syncTargets).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "skerry"}, "status")
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// disconnected tells whether a session of the target ended since this center started.
func (d *Door) disconnected(name string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.left[name]
}

func (d *Door) present(st *v1alpha1.SyncTarget, s *session) {
	s.mu.Lock()
	acked, health := s.acked, s.health
	s.mu.Unlock()
	status := &st.Status
	now := metav1.NewTime(time.Now().Truncate(time.Minute))
	if status.LastSeen == nil || status.LastSeen.Before(&now) {
		status.LastSeen = &now
	}
	status.Relay, status.AgentVersion, status.KubernetesVersion = s.hello.Relay, s.hello.AgentVersion, s.hello.KubernetesVersion
	status.Transport, status.Objects = s.conn.Transport(), int32(d.cfg.Objects(st.Name))
	status.AppliedRevision = max(status.AppliedRevision, acked.Revision)
	set(st, v1alpha1.ConditionConnected, metav1.ConditionTrue, "SessionOpen", "the agent has a session over "+s.conn.Transport())
	head := s.feed.Head()
	switch {
	case health.Reason != "":
		set(st, v1alpha1.ConditionSynced, metav1.ConditionFalse, health.Reason, health.Message)
	case acked.Incarnation == head.Incarnation && len(s.feed.Since(acked.Revision, 1)) == 0:
		set(st, v1alpha1.ConditionSynced, metav1.ConditionTrue, "UpToDate", "the target has durably stored all that is placed on it")
	case time.Since(s.began) > 2*settle:
		set(st, v1alpha1.ConditionSynced, metav1.ConditionFalse, "Behind", "changes are on their way to the target")
		d.again(st.Name)
	default:
		d.again(st.Name)
	}
}

func (d *Door) absent(st *v1alpha1.SyncTarget) {
	set(st, v1alpha1.ConditionConnected, metav1.ConditionFalse, "NoSession",
		"the agent has no session; what runs there goes on. On the site see: systemctl status skerry-agent, journalctl -u skerry-agent")
	set(st, v1alpha1.ConditionSynced, metav1.ConditionUnknown, "NoSession", "unknown while the agent has no session")
}

func set(st *v1alpha1.SyncTarget, kind string, status metav1.ConditionStatus, reason, message string) {
	apimeta.SetStatusCondition(&st.Status.Conditions, metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message,
		ObservedGeneration: st.Generation})
}

// again looks at the target once more a little later: its acknowledgement is under way.
func (d *Door) again(name string) {
	time.AfterFunc(time.Second, func() { d.targets.touch(name) })
}
