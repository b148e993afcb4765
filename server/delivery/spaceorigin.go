package delivery

import "sync"

// spaceMark is what of a Space is written on what it delivers.
type spaceMark struct {
	// uid is metadata.uid. A Namespace carries it to the targets, because a namespace there belongs
	// to one space and not to a later one of the same name.
	uid string
	// prefix is that of spec.namespaceMapping. Everything carries it: a site has to know it
	// whatever comes first.
	prefix string
}

// spaceMarks are those of the Spaces by name. They have a lock of their own: bodies are rendered
// with and without Delivery's.
type spaceMarks struct {
	mu  sync.RWMutex
	all map[string]spaceMark
}

func newSpaceMarks() *spaceMarks { return &spaceMarks{all: map[string]spaceMark{}} }

// set notes the mark of a space, the zero one when the space is gone.
func (s *spaceMarks) set(name string, m spaceMark) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m == (spaceMark{}) {
		delete(s.all, name)
	} else {
		s.all[name] = m
	}
}

// get returns the mark of a space, the zero one when it is not known.
func (s *spaceMarks) get(name string) spaceMark {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.all[name]
}

// SpaceUID returns the UID of a space, empty when it is not known.
func (d *Delivery) SpaceUID(space string) string { return d.spaceMarks.get(space).uid }
