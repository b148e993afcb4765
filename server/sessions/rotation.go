package sessions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/store"
)

// rotationPause is how often a rotation is looked at when nothing wakes it: times pass, and orders
// get lost with their sessions.
const rotationPause = 5 * time.Second

// maxWaitingFor is how many names of targets a status holds.
const maxWaitingFor = 20

func isRequest(k store.Key) bool {
	return k.Space == v1alpha1.RootSpace && k.Group == "" && k.Resource == "configmaps" &&
		k.Namespace == v1alpha1.AuthoritiesNamespace && k.Name == v1alpha1.AuthoritiesName
}

// asked takes over the admin's request, nil when there is none.
func (srv *Server) asked(obj map[string]any) {
	var request *v1alpha1.AuthoritiesRequest
	if text, _, _ := unstructured.NestedString(obj, "data", v1alpha1.AuthoritiesRequestKey); text != "" {
		request = &v1alpha1.AuthoritiesRequest{}
		if err := json.Unmarshal([]byte(text), request); err != nil {
			srv.cfg.Log.Error(
				"the request to rotate the authorities cannot be read; make it with: skerry ca rotate",
				"err",
				err,
			)
			request = nil
		}
	}
	forget := namesToForget(obj, srv.cfg.Log)
	srv.mu.Lock()
	srv.request, srv.forget = request, forget
	srv.mu.Unlock()
	srv.wakeRotation()
}

// wakeRotation wakes rotate.
func (srv *Server) wakeRotation() {
	select {
	case srv.rotation <- struct{}{}:
	default:
	}
}

// rotate leads the authorities from phase to phase, as the admin asked and the targets are ready,
// until ctx ends. All that it must remember is in the authorities' own state, the request and the
// status of the SyncTargets.
func (srv *Server) rotate(ctx context.Context) {
	tick := time.NewTicker(rotationPause)
	defer tick.Stop()
	for {
		problem := errors.Join(srv.keepNames(ctx), srv.step())
		if err := srv.writeRotationStatus(ctx, problem); err != nil && ctx.Err() == nil {
			srv.cfg.Log.Warn("the status of the authorities could not be written", "err", err)
		}
		select {
		case <-srv.rotation:
		case <-tick.C:
			srv.offerAll()
		case <-ctx.Done():
			return
		}
	}
}

// step makes the steps that are due. It returns why one failed.
func (srv *Server) step() error {
	for {
		is, waiting, request := srv.rotationNow()
		due, _ := nextPhase(is, request, len(waiting), time.Now())
		do := map[v1alpha1.AuthoritiesPhase]func() error{
			v1alpha1.AuthoritiesAnnounced: srv.cfg.Authorities.Announce,
			v1alpha1.AuthoritiesSwitched:  srv.cfg.Authorities.Switch,
			v1alpha1.AuthoritiesStable:    srv.cfg.Authorities.Retire,
		}[due]
		if do == nil {
			return nil
		}
		if err := do(); err != nil {
			srv.cfg.Log.Error(
				"a step of the authorities' rotation failed; it is tried again",
				"phase",
				is.Phase,
				"next",
				due,
				"err",
				err,
			)
			return fmt.Errorf("the step to %s failed: %w", due, err)
		}
		srv.cfg.Log.Info(
			"the authorities are rotated",
			"phase",
			due,
			"generation",
			srv.cfg.Authorities.Authorities().Generation,
			"waited for",
			waiting,
		)
		srv.cfg.Center.Rotated()
		srv.offerAll()
	}
}

// rotationNow is how the rotation is, and which targets the next phase waits for.
func (srv *Server) rotationNow() (
	is v1alpha1.AuthoritiesStatus, waiting []string, request *v1alpha1.AuthoritiesRequest,
) {
	is = srv.cfg.Authorities.Authorities()
	srv.mu.Lock()
	request = srv.request
	for i := range is.FormerNames {
		is.FormerNames[i].Sites = srv.dialLocked(is.FormerNames[i].Name)
	}
	srv.mu.Unlock()
	if is.Phase == v1alpha1.AuthoritiesStable {
		return is, nil, request
	}
	for _, name := range srv.targets.names() {
		known, ok := srv.targets.get(name)
		if !ok || known.key == "" || isRevoked(known.object, known.key) {
			continue // nobody holds the name
		}
		is.Targets++
		if !ready(known.object.Status.Identity, is) {
			waiting = append(waiting, name)
		}
	}
	slices.Sort(waiting)
	is.Waiting, is.WaitingFor = len(waiting), waiting[:min(len(waiting), maxWaitingFor)]
	return is, waiting, request
}

// ready reports whether a target may be in the next phase. It has no identity before its first
// session.
func ready(identity *v1alpha1.SyncTargetIdentity, is v1alpha1.AuthoritiesStatus) bool {
	switch {
	case identity == nil:
		return false
	case is.Phase == v1alpha1.AuthoritiesAnnounced:
		return identity.Bundle == is.Bundle
	default:
		return identity.Authority == is.Authority
	}
}

// nextPhase is the phase that is due, empty while the present one lasts; notBefore is when it may
// begin if nothing but time is awaited.
func nextPhase(
	is v1alpha1.AuthoritiesStatus,
	request *v1alpha1.AuthoritiesRequest,
	waiting int,
	now time.Time,
) (due v1alpha1.AuthoritiesPhase, notBefore time.Time) {
	if request == nil {
		request = &v1alpha1.AuthoritiesRequest{}
	}
	forced := request.Force == is.Phase
	switch is.Phase {
	case v1alpha1.AuthoritiesStable:
		if request.Generation == is.Generation+1 {
			return v1alpha1.AuthoritiesAnnounced, time.Time{}
		}
	case v1alpha1.AuthoritiesAnnounced:
		mine := request.Generation == is.Generation+1
		if waiting == 0 || mine && (forced || request.SwitchAt != nil && !now.Before(request.SwitchAt.Time)) {
			return v1alpha1.AuthoritiesSwitched, time.Time{}
		}
	case v1alpha1.AuthoritiesSwitched:
		mine, retire := request.Generation == is.Generation, v1alpha1.DefaultRetireAfter
		if mine && request.RetireAfter != nil {
			retire = request.RetireAfter.Duration
		}
		notBefore = is.Since.Add(retire)
		if mine && forced || waiting == 0 && !now.Before(notBefore) {
			return v1alpha1.AuthoritiesStable, time.Time{}
		}
	}
	return "", notBefore
}

// writeRotationStatus writes the status where the admin reads it, if it says something new.
func (srv *Server) writeRotationStatus(ctx context.Context, problem error) error {
	is, waiting, request := srv.rotationNow()
	if _, at := nextPhase(is, request, len(waiting), time.Now()); !at.IsZero() {
		is.NextAt = &metav1.Time{Time: at}
	}
	if problem != nil {
		is.Problem = problem.Error()
	}
	text, err := json.Marshal(is)
	if err != nil || string(text) == srv.told {
		return err
	}
	err = srv.writeConfigMap(ctx, v1alpha1.AuthoritiesName, v1alpha1.AuthoritiesStatusKey, string(text))
	if err == nil {
		srv.told = string(text)
	}
	return err
}
