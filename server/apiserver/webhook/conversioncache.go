package webhook

import (
	"container/list"
	"crypto/sha256"
	"sync"
	"time"
)

const (
	// keptBytes is what the cache of all spaces may hold, spaceBytes what it holds of one.
	keptBytes  = 64 << 20
	spaceBytes = 16 << 20
	// keptConversion is how long a conversion counts: a webhook may be changed without another Pod.
	keptConversion = time.Hour
	// entryBytes is what an entry takes beside its object.
	entryBytes = 256
)

// conversionKey is the space, and a hash of all that decides the result.
type conversionKey struct {
	space string
	hash  [sha256.Size]byte
}

// conversions remembers converted objects, the least recently used of a space going first. Each is
// asked for once at a time.
type conversions struct {
	mu     sync.Mutex
	kept   map[conversionKey]*list.Element // of *conversion, in its space's list
	spaces map[string]*spaceConversions
	bytes  int
	flying map[conversionKey]*flight
}

type spaceConversions struct {
	order list.List // the most recently used in front
	bytes int
}

type conversion struct {
	key       conversionKey
	converted []byte
	by        Backend
	at        time.Time
}

// flight is a conversion that somebody has asked for. converted is set before done is closed, and
// nil where it has failed.
type flight struct {
	done      chan struct{}
	converted []byte
}

func newConversions() *conversions {
	return &conversions{
		kept:   map[conversionKey]*list.Element{},
		spaces: map[string]*spaceConversions{},
		flying: map[conversionKey]*flight{},
	}
}

// take returns what is known of some keys, by their places: have is what was converted; mine are to
// be converted by the caller, who calls put or fail for each; others are being converted for
// others. A conversion counts while current says so of the Pod that made it.
func (c *conversions) take(
	keys []conversionKey,
	current func(Backend) bool,
) (have [][]byte, mine []int, others map[int]*flight) {
	have, others = make([][]byte, len(keys)), map[int]*flight{}
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, k := range keys {
		if known := c.getLocked(k, current); known != nil {
			have[i] = known
			continue
		}
		if f := c.flying[k]; f != nil {
			others[i] = f
			continue
		}
		c.flying[k] = &flight{done: make(chan struct{})}
		mine = append(mine, i)
	}
	return have, mine, others
}

func (c *conversions) getLocked(k conversionKey, current func(Backend) bool) []byte {
	e := c.kept[k]
	if e == nil {
		return nil
	}
	known := e.Value.(*conversion)
	if time.Since(known.at) > keptConversion || !current(known.by) {
		c.dropLocked(e)
		return nil
	}
	c.spaces[k.space].order.MoveToFront(e)
	return known.converted
}

// put gives an object that was converted to who waits for it, and keeps it.
func (c *conversions) put(k conversionKey, converted []byte, by Backend) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.landLocked(k, converted)
	if e := c.kept[k]; e != nil {
		c.dropLocked(e)
	}
	size := len(converted) + entryBytes
	if size > spaceBytes {
		return
	}
	for s := c.spaces[k.space]; s != nil && s.bytes+size > spaceBytes; s = c.spaces[k.space] {
		c.dropLocked(s.order.Back())
	}
	for c.bytes+size > keptBytes {
		c.dropLocked(c.largestLocked().order.Back())
	}
	s := c.spaces[k.space]
	if s == nil {
		s = &spaceConversions{}
		c.spaces[k.space] = s
	}
	c.kept[k] = s.order.PushFront(&conversion{k, converted, by, time.Now()})
	s.bytes += size
	c.bytes += size
}

// fail tells who waits for some keys that they were not converted.
func (c *conversions) fail(keys []conversionKey, mine []int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, i := range mine {
		c.landLocked(keys[i], nil)
	}
}

func (c *conversions) landLocked(k conversionKey, converted []byte) {
	if f := c.flying[k]; f != nil {
		f.converted = converted
		close(f.done)
		delete(c.flying, k)
	}
}

// dropLocked forgets a conversion.
func (c *conversions) dropLocked(e *list.Element) {
	old := e.Value.(*conversion)
	s, size := c.spaces[old.key.space], len(old.converted)+entryBytes
	s.order.Remove(e)
	delete(c.kept, old.key)
	s.bytes -= size
	c.bytes -= size
	if s.order.Len() == 0 {
		delete(c.spaces, old.key.space)
	}
}

// largestLocked is the space that holds most. There is one.
func (c *conversions) largestLocked() (most *spaceConversions) {
	for _, s := range c.spaces {
		if most == nil || s.bytes > most.bytes {
			most = s
		}
	}
	return most
}
