package walk

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"
)

// judge sees every event of every site and knows what may happen there.
type judge struct {
	mu    sync.Mutex
	sites map[string]*view
	found verdict
	tell  func(key, format string, args ...any) // to the history of an object
}

// view is one site's cluster, as its watch shows it.
type view struct {
	newest  int64 // the resourceVersion of the last event that told something new
	present map[string]seen
	highest map[string]int // the newest version of each object that was ever there
	// What has been asked for since the last rest: until it has happened, it may.
	mayAdd, mayDelete map[string]bool
}

// seen is an object on a site.
type seen struct {
	uid     string
	version int
	raw     json.RawMessage
}

// verdict counts what must not happen.
type verdict struct {
	Lost, Resurrected, WronglyDeleted, WrittenTwice, WentBack int
	Events                                                    int
	// Repeated events tell of a write that an event has told of before; Repeats are the first of
	// them, in words.
	Repeated int
	Repeats  []string
	// Untold is how often a site had something, or had not, of which no event had told.
	Untold int
	// Said are the first of them, in words.
	Said []string
	keys []string
}

func (v verdict) faultless() bool {
	return v.Lost+v.Resurrected+v.WronglyDeleted+v.WrittenTwice+v.WentBack == 0
}

func newJudge(sites []string, tell func(key, format string, args ...any)) *judge {
	j := &judge{sites: map[string]*view{}, tell: tell}
	for _, s := range sites {
		j.sites[s] = &view{present: map[string]seen{}, highest: map[string]int{}, mayAdd: map[string]bool{},
			mayDelete: map[string]bool{}}
	}
	return j
}

// ways are where an object may come, and from where it may go.
type ways struct{ come, leave []string }

// expect is told of a change before it is written.
func (j *judge) expect(key string, w ways) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, s := range w.come {
		j.sites[s].mayAdd[key] = true
	}
	for _, s := range w.leave {
		j.sites[s].mayDelete[key] = true
	}
}

// rest is told when every site has what it is to have: nothing is on its way any more.
func (j *judge) rest() {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, v := range j.sites {
		clear(v.mayAdd)
		clear(v.mayDelete)
	}
}

// configMap is what is read of an event's object.
type configMap struct {
	Metadata struct {
		Namespace, Name, UID, ResourceVersion string
	}
	Data map[string]string
}

// event judges one event of a site's watch.
func (j *judge) event(site, typ string, at time.Time, raw json.RawMessage) {
	var o configMap
	if json.Unmarshal(raw, &o) != nil || !strings.HasPrefix(o.Metadata.Namespace, "walk-") ||
		!strings.HasPrefix(o.Metadata.Name, "o-") {
		return
	}
	key := o.Metadata.Namespace + "/" + o.Metadata.Name
	version, _ := strconv.Atoi(o.Data["v"])
	j.mu.Lock()
	defer j.mu.Unlock()
	j.found.Events++
	v := j.sites[site]
	have, present := v.present[key]
	j.tell(key, "%s: %s version %d uid %.8s resourceVersion %s", site, typ, version, o.Metadata.UID,
		o.Metadata.ResourceVersion)
	revision, err := strconv.ParseInt(o.Metadata.ResourceVersion, 10, 64)
	if err == nil && revision <= v.newest {
		j.repeat("%s: %s of %s at %s again, resourceVersion %d", at.UTC().Format("15:04:05.000"), typ, key, site, revision)
		return
	}
	v.newest = revision
	switch {
	case typ == "DELETED":
		delete(v.present, key)
		if !v.mayDelete[key] {
			j.accuse(&j.found.WronglyDeleted, key, "%s was deleted at %s", key, site)
		}
		return
	case !present && !v.mayAdd[key]:
		j.accuse(&j.found.Resurrected, key, "%s came back at %s with version %d", key, site, version)
	case version < v.highest[key]:
		j.accuse(&j.found.WentBack, key, "%s at %s went back from version %d to %d", key, site, v.highest[key], version)
	case present && have.uid == o.Metadata.UID && have.version == version:
		j.accuse(&j.found.WrittenTwice, key, "version %d of %s was written again at %s: %s", version, key, site,
			differing(have.raw, raw))
	}
	v.highest[key] = max(version, v.highest[key])
	v.present[key] = seen{uid: o.Metadata.UID, version: version, raw: raw}
}

// told is the resourceVersion of the last event of a site that told something new.
func (j *judge) told(site string) int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.sites[site].newest
}

// behold is told what a cluster was read to have after the event told, and does nothing when there
// was another one since. Where that is something else than its watch has shown, the watch has left
// out an event: a simulated cluster's API server was seen to do it on a starved machine, when it
// had ended a watch and that went on.
func (j *judge) behold(site string, told int64, there map[string]shape) {
	j.mu.Lock()
	defer j.mu.Unlock()
	v := j.sites[site]
	if v.newest != told {
		return
	}
	for key := range v.present {
		if there[key].exists {
			continue
		}
		j.untold(site, key, "is gone")
		delete(v.present, key)
		if !v.mayDelete[key] {
			j.accuse(&j.found.WronglyDeleted, key, "%s was deleted at %s", key, site)
		}
	}
	for key, is := range there {
		have, present := v.present[key]
		if present && have.version == is.version {
			continue
		}
		j.untold(site, key, "is there with version %d", is.version)
		v.present[key] = seen{version: is.version}
		if !present && !v.mayAdd[key] {
			j.accuse(&j.found.Resurrected, key, "%s came back at %s with version %d", key, site, is.version)
		}
	}
}

// untold counts what no event has told. The caller holds the lock.
func (j *judge) untold(site, key, format string, args ...any) {
	j.found.Untold++
	j.tell(key, "%s: the object %s, and no event has told of it", site, fmt.Sprintf(format, args...))
}

// repeat counts an event that is told twice: a watch goes through the writes of a cluster in their
// order, so what is not behind the last event was told before. A simulated cluster's API server was
// seen to do it on a starved machine, for all that came: what was deleted came back with its UID,
// and went. The caller holds the lock.
func (j *judge) repeat(format string, args ...any) {
	j.found.Repeated++
	if len(j.found.Repeats) < 5 {
		j.found.Repeats = append(j.found.Repeats, fmt.Sprintf(format, args...))
	}
}

// accuse counts what must not happen. The caller holds the lock.
func (j *judge) accuse(count *int, key, format string, args ...any) {
	*count++
	if len(j.found.Said) < 20 {
		j.found.Said = append(j.found.Said, fmt.Sprintf(format, args...))
		j.found.keys = append(j.found.keys, key)
	}
}

// missing describes how a site differs from what it is to have; it is empty when it does not.
func (j *judge) missing(site string, wanted map[string]int) (differences []difference) {
	j.mu.Lock()
	defer j.mu.Unlock()
	present := j.sites[site].present
	for key, version := range wanted {
		if have, ok := present[key]; !ok || have.version != version {
			differences = append(differences, difference{key, version, have.version})
		}
	}
	for key, have := range present {
		if _, ok := wanted[key]; !ok {
			differences = append(differences, difference{key, 0, have.version})
		}
	}
	return differences
}

// difference is one object that is not as wanted; version 0 is absence.
type difference struct {
	key          string
	wanted, have int
}

func (d difference) String() string {
	return fmt.Sprintf("%s: wanted version %d, has %d", d.key, d.wanted, d.have)
}

// late turns what is still different after the time for it into a verdict.
func (j *judge) late(site string, differences []difference) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, d := range differences {
		if d.wanted == 0 {
			j.accuse(&j.found.Resurrected, d.key, "at %s %s (0 is absence)", site, d)
		} else {
			j.accuse(&j.found.Lost, d.key, "at %s %s (0 is absence)", site, d)
		}
	}
}

func (j *judge) verdict() verdict {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.found
}

// lostInSpace is told of an acknowledged write that the center does not have any more.
func (j *judge) lostInSpace(key, what string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.accuse(&j.found.Lost, key, "%s", what)
}
