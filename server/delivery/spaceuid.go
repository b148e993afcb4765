package delivery

import "sync"

// spaceUIDs are metadata.uid of the Spaces by name. A Namespace carries its space's to the targets, because a namespace there belongs to one
// space and not to a later one of the same name. It has a lock of its own: bodies are rendered with and without Delivery's.
type spaceUIDs struct {
	mu  sync.RWMutex
	uid map[string]string
}

func newSpaceUIDs() *spaceUIDs { return &spaceUIDs{uid: map[string]string{}} }

// set notes the UID of a space, empty when the space is gone.
func (s *spaceUIDs) set(name, uid string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if uid == "" {
		delete(s.uid, name)
	} else {
		s.uid[name] = uid
	}
}

// get returns the UID of a space, empty when it is not known.
func (s *spaceUIDs) get(name string) string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.uid[name]
}
