package summary

import (
	"cmp"
	"slices"

	"skerry.dev/skerry/server/placement"
)

// Tally counts what a target reports of all that is placed on it: it reads each report once. What
// the center itself does not send counts as refused, and so does a deletion that the target cannot
// carry out. It names so many refusals.
func (s *Summary) Tally(target string, first int) (out placement.Tally) {
	for _, e := range s.cfg.Delivery.Placed(target) {
		if why, unsent := s.unsent.of(e.Key); unsent {
			out.Refused++
			out.First = append(out.First, placement.Refused{Key: e.Key, Reason: why.Reason, Message: why.Message})
			continue
		}
		r, ok, err := s.report(target, e.Key)
		if err != nil || !ok {
			continue
		}
		switch p := placement.Judge(e.Key, r); {
		case p.Refused != nil:
			out.Refused++
			out.First = append(
				out.First,
				placement.Refused{Key: e.Key, Reason: p.Refused.Reason, Message: p.Refused.Message},
			)
		case p.Applied == e.Hash:
			out.Applied++
		}
	}
	stuck := s.stuck(target)
	out.Refused += len(stuck)
	out.First = append(out.First, stuck...)
	slices.SortFunc(out.First, func(a, b placement.Refused) int { return cmp.Compare(a.Key.Encode(), b.Key.Encode()) })
	out.First = slices.Clip(out.First[:min(first, len(out.First))])
	return out
}
