package variants

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/clip"
	"skerry.dev/skerry/tunnel/ondemand"
	"skerry.dev/skerry/tunnel/variant"
)

// reportDelay gathers what becomes of many objects into one report.
const reportDelay = 200 * time.Millisecond

// status is a v1alpha1.CustomizerStatus, as far as a site knows it.
type status struct {
	ObservedGeneration int64    `json:"observedGeneration,omitempty"`
	Matched            int      `json:"matched,omitempty"`
	Targets            int      `json:"targets,omitempty"`
	Failures           int      `json:"failures,omitempty"`
	Failed             []failed `json:"failed,omitempty"`
}

// failed is a failure. The parent fills in the target.
type failed struct {
	Target  string `json:"target"`
	Object  string `json:"object"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// maxMessage bounds the text of a failure, in bytes.
const maxMessage = 512

// Run reports on Customizers until ctx ends.
func (r *Rules) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-r.wake:
		}
		if !ondemand.Pause(ctx, reportDelay) {
			return nil
		}
		for k, report := range r.reports() {
			r.cfg.Report(k, report)
		}
	}
}

// reports makes the reports of spaces where something has changed.
func (r *Rules) reports() map[store.Key]*Report {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := map[store.Key]*Report{}
	for _, k := range r.gone {
		out[k] = nil
	}
	r.gone = nil
	for _, sp := range r.spaces {
		if !sp.changed {
			continue
		}
		sp.changed = false
		pending := false
		for _, o := range sp.objects {
			pending = pending || o.pending
		}
		for k, c := range sp.rules {
			if c.uid == "" {
				continue // its body is not known
			}
			report := &Report{UID: c.uid, Generation: c.gen, Invalid: c.invalid}
			if !pending && c.invalid == nil {
				report.Applied = c.hash
			}
			report.Status = sp.status(k.Name, c.gen)
			out[k] = report
		}
	}
	return out
}

func (sp *space) status(name string, generation int64) json.RawMessage {
	s := status{ObservedGeneration: generation}
	for k, o := range sp.objects {
		if slices.Contains(o.matched, name) {
			s.Matched++
		}
		if f := o.failed; f != nil && f.customizer == name {
			s.Failures++
			s.Failed = append(s.Failed, failed{
				Object: object(k), Reason: f.reason, Message: clip.Dotted(f.message, maxMessage),
			})
		}
	}
	if s.Matched > 0 {
		s.Targets = 1
	}
	slices.SortFunc(s.Failed, func(a, b failed) int { return cmp.Compare(a.Object, b.Object) })
	s.Failed = slices.Clip(s.Failed[:min(len(s.Failed), variant.MaxReasons)])
	out, err := json.Marshal(s)
	if err != nil {
		return nil // texts and numbers can be encoded
	}
	return out
}

// object is a key without its space.
func object(k store.Key) string {
	_, rest, _ := strings.Cut(k.String(), "/")
	return rest
}
