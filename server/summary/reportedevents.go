package summary

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/events"
)

// reportedEvents are the Events that targets report. One that is shown goes by its time to live, as
// Events do, or with its report. A center that starts finds in the space which it has shown.
type reportedEvents struct {
	// news has the targets that may have something new to say, by the reported key. False is of what was
	// shown before this center started: it is withdrawn where its report is gone, and else left.
	news  map[store.Key]map[string]bool
	shown map[reportedEvent][]store.Key // what the space shows of it
}

type reportedEvent struct {
	target string
	key    store.Key
}

func newReportedEvents() reportedEvents {
	return reportedEvents{news: map[store.Key]map[string]bool{}, shown: map[reportedEvent][]store.Key{}}
}

// isEvent tells reports that are about Events of the target. An Event is never placed.
func isEvent(k store.Key) bool { return k.Group == "" && k.Resource == "events" }

// eventReported notes that a target has something to say of an Event.
func (s *Summary) eventReported(target string, k store.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.eventNewsLocked(reportedEvent{target, k}, true)
}

func (s *Summary) eventNewsLocked(of reportedEvent, news bool) {
	if s.reportedEvents.news[of.key] == nil {
		s.reportedEvents.news[of.key] = map[string]bool{}
	}
	s.reportedEvents.news[of.key][of.target] = news || s.reportedEvents.news[of.key][of.target]
}

// foundEvent takes over an Event of a snapshot that shows what a target reported.
func (s *Summary) foundEvent(w store.Write) {
	notes := fields.Map(fields.Map(w.Object, "metadata"), "annotations")
	target, name := fields.Clone(notes, v1alpha1.AnnotationReportedFrom), fields.Clone(notes, annotationReportedEvent)
	if !isEvent(w.Key) || target == "" || name == "" {
		return
	}
	k := w.Key
	k.Name = name
	if of := fields.Map(w.Object, "involvedObject"); fields.String(of, "namespace") == "" {
		k.Namespace = "" // of what has no namespace, shown in the namespace default
	}
	from := reportedEvent{target, k}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.reportedEvents.shown[from], w.Key) {
		s.reportedEvents.shown[from] = append(s.reportedEvents.shown[from], w.Key)
	}
	s.eventNewsLocked(from, false)
	s.queue.Add(k)
}

// annotationReportedEvent stands on an Event that shows what a target reported: its name in the report.
const annotationReportedEvent = v1alpha1.AnnotationReported + "event"

// publishEvent shows in the space what targets say of one Event.
func (s *Summary) publishEvent(ctx context.Context, k store.Key) error {
	s.mu.Lock()
	news := s.reportedEvents.news[k]
	delete(s.reportedEvents.news, k)
	s.mu.Unlock()
	var failed error
	for _, target := range slices.Sorted(maps.Keys(news)) {
		if err := s.publishEventOn(ctx, reportedEvent{target, k}, news[target]); err != nil {
			s.mu.Lock()
			s.eventNewsLocked(reportedEvent{target, k}, news[target])
			s.mu.Unlock()
			failed = errors.Join(failed, err)
		}
	}
	return failed
}

func (s *Summary) publishEventOn(ctx context.Context, from reportedEvent, news bool) error {
	r, ok, err := s.report(from.target, from.key)
	if err != nil {
		return err
	}
	if !ok || r.Event == nil {
		s.withdrawEvents(ctx, from)
		return nil
	}
	owner, ok := s.cfg.Delivery.Owner(
		from.key.Space,
		from.key.Namespace,
		groupOf(r.Event.Owner.APIVersion),
		r.Event.Owner.Kind,
		r.Event.Owner.Name,
	)
	has := slices.Contains(owner.Targets, from.target) || slices.Contains(owner.Named, from.target)
	if !ok || owner.UID != r.OriginUID || !has {
		s.withdrawEvents(ctx, from)
		return nil
	}
	if !news {
		return nil
	}
	events, err := s.eventsFor(from, owner, r)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.reportedEvents.shown[from] = slices.Collect(maps.Keys(events))
	s.mu.Unlock()
	for k, e := range events {
		if err := s.writeEvent(ctx, k, e); err != nil {
			return err
		}
	}
	return nil
}

// errNotMirrored is returned while what an Event is about is not in the space yet.
var errNotMirrored = errors.New("what the event is about is not mirrored yet")

// eventsFor are the Events that show one report: at the placed object, where people look first, and
// at what of it the Event is about, if the space shows that.
func (s *Summary) eventsFor(
	from reportedEvent,
	owner placement.Located,
	r store.Report,
) (map[store.Key]map[string]any, error) {
	out := map[store.Key]map[string]any{}
	add := func(kind, apiVersion, name, uid, message, component string) {
		k := targetEventKey(from, kind, name)
		about := map[string]any{"apiVersion": apiVersion, "kind": kind, "name": name, "uid": uid}
		if owner.Key.Namespace != "" {
			about["namespace"] = owner.Key.Namespace
		}
		out[k] = targetEvent(k, about, from, message, component, r)
	}
	about := r.Event.About
	if about == nil {
		add(owner.Kind, owner.APIVersion, owner.Key.Name, owner.UID, r.Event.Message, r.Event.Component)
		return out, nil
	}
	mk := store.Key{
		Space:     from.key.Space,
		Group:     groupOf(about.APIVersion),
		Resource:  mirroredResource(about.Kind),
		Namespace: owner.Key.Namespace,
		Name:      about.Name,
	}
	mirrored := mk.Resource != "" && len(owner.Targets) <= mirrorTargets
	says := r.Event.Component
	if mirrored {
		says = reporter // a relay's agent passes on the Event at the mirror
	}
	add(
		owner.Kind,
		owner.APIVersion,
		owner.Key.Name,
		owner.UID,
		about.Kind+" "+about.Name+" on "+from.target+": "+r.Event.Message,
		says,
	)
	if !mirrored {
		return out, nil
	}
	s.mu.Lock()
	name, uid := "", ""
	if m := s.mirrors[mk]; m != nil {
		for n, o := range m.objects {
			if o.target == from.target {
				name, uid = n, o.uid
			}
		}
	}
	s.mu.Unlock()
	if name != "" {
		add(about.Kind, about.APIVersion, name, uid, r.Event.Message, r.Event.Component)
	} else if _, told, err := s.report(from.target, mk); err != nil || told {
		return nil, errors.Join(err, fmt.Errorf("show event %s: %w", from.key, errNotMirrored))
	}
	return out, nil
}

// reporter is who reports what the center itself says of something.
const reporter = "skerry"

func mirroredResource(kind string) string {
	switch kind {
	case "Pod":
		return "pods"
	case "ReplicaSet":
		return "replicasets"
	case "Job":
		return "jobs"
	case "PersistentVolumeClaim":
		return "persistentvolumeclaims"
	}
	return ""
}

// targetEventKey names what one report of a target shows at one object.
func targetEventKey(from reportedEvent, kind, name string) store.Key {
	k := store.Key{
		Space:     from.key.Space,
		Resource:  "events",
		Namespace: from.key.Namespace,
		Name:      events.Name(from.target, from.key.Name, kind, name),
	}
	if k.Namespace == "" {
		k.Namespace = "default"
	}
	return k
}

func targetEvent(
	k store.Key, about map[string]any, from reportedEvent, message, component string, r store.Report,
) map[string]any {
	target, name := from.target, from.key.Name
	at := func(t time.Time) string { return t.UTC().Format(time.RFC3339) }
	return map[string]any{
		"apiVersion": "v1", "kind": "Event",
		"metadata": map[string]any{
			"name":        k.Name,
			"namespace":   k.Namespace,
			"annotations": map[string]any{v1alpha1.AnnotationReportedFrom: target, annotationReportedEvent: name},
		},
		"involvedObject": about,
		"type":           r.Event.Type, "reason": r.Event.Reason, "message": trim(message, 1024),
		"source": map[string]any{
			"component": r.Event.Component,
			"host":      target,
		}, "reportingComponent": component, "reportingInstance": target,
		"firstTimestamp": at(
			time.Unix(r.Event.First, 0),
		), "lastTimestamp": at(time.UnixMilli(r.At)), "count": r.Event.Count,
	}
}

// writeEvent makes an Event, or brings the one that is there up to date.
func (s *Summary) writeEvent(ctx context.Context, k store.Key, e map[string]any) error {
	_, err := s.cfg.API.Create(ctx, k, "v1", e)
	if apierrors.IsAlreadyExists(err) {
		var patch []byte
		if patch, err = json.Marshal(map[string]any{"message": e["message"], "count": e["count"],
			"firstTimestamp": e["firstTimestamp"],
			"lastTimestamp":  e["lastTimestamp"], "involvedObject": e["involvedObject"]}); err == nil {
			_, err = s.cfg.API.Patch(ctx, k, "v1", "", patch)
		}
	}
	switch {
	case err == nil, apierrors.IsNotFound(err), apierrors.IsForbidden(err):
		return nil // its namespace is gone or going
	case apierrors.IsInvalid(err):
		s.cfg.Log.Warn("space does not take a reported event", "key", k.String(), "err", err)
		return nil
	}
	return fmt.Errorf("show event %s: %w", k, err)
}

// withdrawEvents takes what is shown of a report out of the space.
func (s *Summary) withdrawEvents(ctx context.Context, from reportedEvent) {
	s.mu.Lock()
	gone := s.reportedEvents.shown[from]
	delete(s.reportedEvents.shown, from)
	s.mu.Unlock()
	for _, k := range gone {
		if err := s.cfg.API.Delete(ctx, k, "v1", ""); err != nil && !apierrors.IsNotFound(err) &&
			!apierrors.IsConflict(err) {
			s.cfg.Log.Debug("a target's event goes by its time to live", "key", k.String(), "err", err)
		}
	}
}
