package summary

import (
	"strings"

	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// NeedsRefused is the reason of a workload that is at its targets, but something that its pods name
// is not.
const NeedsRefused = "NeedsRefused"

// refusedNeeds are the refusals of what the pods of a workload name, on the targets of the
// workload. Of classes the site itself judges: it may have one of that name.
func (s *Summary) refusedNeeds(at placement.Located) (out []refusal) {
	s.mu.Lock()
	none := len(s.refused) == 0
	s.mu.Unlock()
	if none {
		return nil
	}
	needs := s.cfg.References.Needs(at.Key)
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, t := range at.Targets {
		for _, k := range needs {
			line, refused := s.refused[k][t]
			if !refused || k.Namespace == "" {
				continue
			}
			if !strings.HasPrefix(line, t+": ") {
				line = t + ": " + line
			}
			out = append(
				out,
				refusal{NeedsRefused, "its pods need " + k.Resource + "/" + k.Name + ", which is refused: " + line,
					at.Targets[i : i+1]},
			)
		}
	}
	return out
}

// wakeNeeding looks again at the workloads that name an object.
func (s *Summary) wakeNeeding(k store.Key) {
	for _, w := range s.cfg.References.NeededBy(k) {
		s.queue.Add(w)
	}
}
