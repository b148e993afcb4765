package summary

import (
	"context"
	"sync"
	"time"

	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/server/queue"
	"skerry.dev/skerry/store"
)

// writers is how many objects are written at a time.
const writers = 8

// Summary writes statuses, mirrors and Events. Reset, Apply and Progress are called by one
// goroutine at a time, everything else may be called at any time.
type Summary struct {
	cfg    Config
	queue  queue.Queue[store.Key]
	pacing pacing
	last   lastReports
	events *recorder

	mu        sync.Mutex
	shown     map[store.Key]shown
	writing   map[store.Key]*inFlightWrites
	mirrors   map[store.Key]*mirrored            // by the key that is reported
	names     map[store.Key]store.Key            // mirrored Pods in spaces -> the key that is reported
	owners    map[store.Key]*owner               // placed objects that have mirrored Pods
	slices    sliceIndex                         // reported EndpointSlices
	below     map[store.Key]map[store.Key]bool   // reported keys -> those of what they control
	ending    map[store.Key]ending               // placed Pods that are being deleted
	primed    bool                               // the first Reset is complete
	extra     map[store.Key]map[string]condition // conditions that decisions put on objects
	refused   map[store.Key]map[string]string    // what each target was last said to refuse
	annotated map[store.Key]annotated            // objects with annotations of the center, see annotate
	unplaced  map[store.Key]unplaced             // objects that show a status and are on no target

	untold map[store.Key]struct{}  // objects whose turn has come to say an outage
	worded map[store.Key]time.Time // when the message of an outage was last changed
	// autoscaled is what was last written, or found equal, of workloads with an autoscaler.
	autoscaled map[store.Key]autoscaled

	departed       departed // Pods that have gone from spaces
	unsent         unsent
	leaving        *leaving
	reportedEvents reportedEvents
	outages        *outages
}

// New returns a Summary that does nothing before Run.
func New(cfg Config) *Summary {
	return &Summary{
		cfg:       cfg,
		queue:     queue.NewFair(firstDelay, longestDelay, store.SpaceOf),
		events:    newRecorder(cfg.API, cfg.Log),
		leaving:   newLeaving(),
		shown:     map[store.Key]shown{},
		writing:   map[store.Key]*inFlightWrites{},
		mirrors:   map[store.Key]*mirrored{},
		names:     map[store.Key]store.Key{},
		owners:    map[store.Key]*owner{},
		slices:    sliceIndex{},
		below:     map[store.Key]map[store.Key]bool{},
		ending:    map[store.Key]ending{},
		extra:     map[store.Key]map[string]condition{},
		refused:   map[store.Key]map[string]string{},
		annotated: map[store.Key]annotated{},
		unplaced:  map[store.Key]unplaced{},
		untold:    map[store.Key]struct{}{},
		worded:    map[store.Key]time.Time{}, autoscaled: map[store.Key]autoscaled{},

		unsent:         unsent{why: map[store.Key]store.ReportError{}},
		reportedEvents: newReportedEvents(),
		outages:        newOutages(),
	}
}

// What could not be written comes back after these.
const firstDelay, longestDelay = 5 * time.Millisecond, 30 * time.Second

// Run writes until the context ends. It may be called once.
func (s *Summary) Run(ctx context.Context) error {
	var running sync.WaitGroup
	for range writers {
		running.Go(func() {
			queue.Drain(ctx, s.queue, s.write, func(k store.Key, err error) {
				s.cfg.Log.Debug("status is written again later", "key", k.String(), "err", err)
			})
		})
	}
	running.Go(func() { s.events.run(ctx) })
	running.Go(func() { s.runOutages(ctx) })
	running.Go(func() { every(ctx, endingPause, s.queueEndings) })
	running.Go(func() { every(ctx, keptFor, s.sweep) })
	<-ctx.Done()
	s.queue.ShutDown()
	running.Wait()
	return nil
}

// every calls f each time that a pause is over, until ctx ends.
func every(ctx context.Context, pause time.Duration, f func()) {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			f()
		}
	}
}

// sweep drops what is not needed any more.
func (s *Summary) sweep() {
	s.pacing.sweep()
	s.last.sweep()
}

// mirroredType is the apiVersion and kind of what targets report beside what is placed: Pods, what
// owns them, their claims, the history of workloads, and the addresses behind Services. It is empty
// for other kinds.
func mirroredType(k store.Key) (apiVersion, kind string) {
	switch k.Group + "/" + k.Resource {
	case "/pods":
		return "v1", "Pod"
	case "apps/replicasets":
		return "apps/v1", "ReplicaSet"
	case "apps/controllerrevisions":
		return "apps/v1", "ControllerRevision"
	case "batch/jobs":
		return "batch/v1", "Job"
	case "discovery.k8s.io/endpointslices":
		return "discovery.k8s.io/v1", "EndpointSlice"
	case "/endpoints":
		return "v1", "Endpoints"
	case "/persistentvolumeclaims":
		return "v1", "PersistentVolumeClaim"
	case "resource.k8s.io/resourceclaims":
		return "resource.k8s.io/v1", "ResourceClaim"
	}
	return "", ""
}

func mirroredVersion(k store.Key) string {
	apiVersion, _ := mirroredType(k)
	return apiVersion
}

func isMirrored(k store.Key) bool { return mirroredVersion(k) != "" }

// Reported tells that a target has reported something new about some keys.
func (s *Summary) Reported(target string, keys []store.Key) {
	for _, k := range keys {
		switch {
		case k.IsUpsync(), k.Group == store.UpsyncGroup:
			continue // of package upsync
		case isMirrored(k):
			s.mirrorReported(target, k)
		case isEvent(k):
			s.eventReported(target, k)
		case !s.placedOn(target, k):
			s.leaving.record(target, k)
		}
		s.last.record(target, k)
		if !s.pacing.gathering(k) {
			s.queue.Add(k)
		}
	}
}

// Event tells people in the space of the object. Equal events are counted, not repeated.
func (s *Summary) Event(e placement.Event) { s.events.record(e) }
