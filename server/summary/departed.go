package summary

import (
	"slices"

	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// Who has the name of a Pod from a list of before is told where that has gone. A name says nothing of
// its owner, so the space remembers it: of the latest Pods only, and until the center starts again.
const (
	departedOfSpace = 256
	departedOfAll   = 4096
)

// departed are the latest Pods that spaces showed and do not show any more, some of each space. A space
// in which many come and go keeps those of no other one out. The Summary's lock guards it.
type departed struct {
	was   map[store.Key]departure
	order map[string][]store.Key // by space, the oldest first
}

type departure struct {
	owner  store.Key
	target string
}

// add remembers a Pod by its key in the space.
func (d *departed) add(pod, owner store.Key, target string) {
	if pod.Resource != "pods" || pod.Group != "" || owner == (store.Key{}) {
		return
	}
	if d.was == nil {
		d.was, d.order = map[store.Key]departure{}, map[string][]store.Key{}
	}
	if _, known := d.was[pod]; known {
		d.forget(pod)
	}
	d.was[pod] = departure{owner, target}
	d.order[pod.Space] = append(d.order[pod.Space], pod)
	if len(d.order[pod.Space]) > departedOfSpace {
		d.forget(d.order[pod.Space][0])
	}
	if len(d.was) > departedOfAll {
		most := pod.Space
		for space, keys := range d.order {
			if len(keys) > len(d.order[most]) {
				most = space
			}
		}
		d.forget(d.order[most][0])
	}
}

// forget drops a Pod: it is too long ago, or the space shows one of that name again.
func (d *departed) forget(pod store.Key) {
	if _, known := d.was[pod]; !known {
		return
	}
	delete(d.was, pod)
	keys := d.order[pod.Space]
	if i := slices.Index(keys, pod); i >= 0 {
		keys = slices.Delete(keys, i, i+1)
	}
	if d.order[pod.Space] = keys; len(keys) == 0 {
		delete(d.order, pod.Space)
	}
}

// DepartedPod returns what is remembered of a Pod that its space showed and does not show any more. It
// is false for all others.
func DepartedPod(s *Summary, pod store.Key) (placement.Departed, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	was, known := s.departed.was[pod]
	if !known {
		return placement.Departed{}, false
	}
	out := placement.Departed{Owner: was.owner, Target: was.target}
	if o := s.owners[was.owner]; o != nil {
		for rk := range o.pods {
			if m := s.mirrors[rk]; m != nil && rk.Resource == "pods" {
				for name := range m.objects {
					out.Pods = append(out.Pods, name)
				}
			}
		}
	}
	slices.Sort(out.Pods)
	return out, true
}
