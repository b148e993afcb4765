package summary

import (
	"slices"
	"sync"
	"time"

	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

const (
	// maxKept is how many bytes of reports are kept. Of an object that finds no room, all reports are
	// read each time.
	maxKept = 32 << 20
	// keptFor is how long the reports of an object are kept after they were used.
	keptFor = 30 * time.Second
	// slotBytes is what a target costs, and saidBytes what a report costs beside its text and its status.
	slotBytes, saidBytes = 24, 400
)

// lastReports keeps the last reports of objects that are on many targets and are reported now, so that a
// report costs reading one and not those of all targets. Thousands of targets say few different things:
// each of these is kept once.
type lastReports struct {
	mu   sync.Mutex
	of   map[store.Key]*reportsOf
	size int // bytes of all
}

// reportsOf are the last reports of one object. One writer at a time uses them.
type reportsOf struct {
	targets []string
	said    []*said // by the targets; nil for nothing
	texts   map[string]*said

	// The lock of lastReports is for these.
	news map[string]struct{} // targets that have reported since said was read
	size int
	used time.Time
}

// said is what some targets say.
type said struct {
	text   string
	report *store.Report
	users  int
}

// record notes that a target has reported something new of an object.
func (l *lastReports) record(target string, k store.Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r := l.of[k]; r != nil {
		r.news[target] = struct{}{}
	}
}

// begin returns what is kept of an object, and the targets that have reported since. What is reported from
// now on is for the next time.
func (l *lastReports) begin(k store.Key) (r *reportsOf, news map[string]struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r = l.of[k]; r == nil {
		if l.of == nil {
			l.of = map[store.Key]*reportsOf{}
		}
		r = &reportsOf{texts: map[string]*said{}}
		l.of[k] = r
	}
	news, r.news = r.news, map[string]struct{}{}
	return r, news
}

// keep notes that the reports of an object have been read, unless they were dropped meanwhile.
func (l *lastReports) keep(k store.Key, r *reportsOf) {
	size := r.bytes()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of[k] != r {
		return
	}
	l.size += size - r.size
	r.size, r.used = size, time.Now()
	if l.size > maxKept {
		l.dropLocked(k)
	}
}

// forget drops what is kept of an object.
func (l *lastReports) forget(k store.Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dropLocked(k)
}

func (l *lastReports) dropLocked(k store.Key) {
	if r := l.of[k]; r != nil {
		l.size -= r.size
		delete(l.of, k)
	}
}

// sweep drops what has not been used for a time.
func (l *lastReports) sweep() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for k, r := range l.of {
		if !r.used.IsZero() && time.Since(r.used) >= keptFor {
			l.dropLocked(k)
		}
	}
}

// bytes is about what the reports take.
func (r *reportsOf) bytes() int {
	n := slotBytes * len(r.said)
	for _, s := range r.texts {
		n += saidBytes + len(s.text) + len(s.report.Status)
	}
	return n
}

// move has said follow other targets. What is not known of them is asked for by news.
func (r *reportsOf) move(targets []string, news map[string]struct{}) map[string]struct{} {
	if slices.Equal(r.targets, targets) {
		return news
	}
	was := make(map[string]*said, len(r.targets))
	for i, t := range r.targets {
		was[t] = r.said[i]
	}
	next, now := make([]*said, len(targets)), map[string]struct{}{}
	for i, t := range targets {
		one, known := was[t]
		if _, again := news[t]; again || !known {
			now[t] = struct{}{}
		}
		next[i] = one
		delete(was, t)
	}
	for _, left := range was {
		r.drop(left)
	}
	r.targets, r.said = targets, next
	return now
}

// put takes over what a target says; nil is nothing.
func (r *reportsOf) put(i int, report *store.Report) {
	r.drop(r.said[i])
	r.said[i] = nil
	if report == nil {
		return
	}
	report.At = 0 // which is another of each target
	text := string(encode(report))
	one := r.texts[text]
	if one == nil {
		one = &said{text: text, report: report}
		r.texts[text] = one
	}
	one.users++
	r.said[i] = one
}

func (r *reportsOf) drop(one *said) {
	if one == nil {
		return
	}
	if one.users--; one.users == 0 {
		delete(r.texts, one.text)
	}
}

// reports returns the last reports about an object, by its targets; nil for a target that has not reported
// of it, or of one before it.
func (s *Summary) reports(at placement.Located) ([]*store.Report, error) {
	all := make([]*store.Report, len(at.Targets))
	take := func(i int, r *store.Report) {
		if r != nil && r.OriginUID == at.UID && r.Object == nil {
			all[i] = r
		}
	}
	if len(at.Targets) <= fewTargets {
		s.last.forget(at.Key)
		for i, t := range at.Targets {
			r, err := s.reportOf(t, at.Key)
			if err != nil {
				return nil, err
			}
			take(i, r)
		}
		return all, nil
	}
	kept, news := s.last.begin(at.Key)
	news = kept.move(at.Targets, news)
	for i, t := range at.Targets {
		if _, again := news[t]; again {
			r, err := s.reportOf(t, at.Key)
			if err != nil {
				s.last.forget(at.Key)
				return nil, err
			}
			kept.put(i, r)
		}
		if is := kept.said[i]; is != nil {
			take(i, is.report)
		}
	}
	s.last.keep(at.Key, kept)
	return all, nil
}

// reportOf is report, nil for none.
func (s *Summary) reportOf(target string, k store.Key) (*store.Report, error) {
	r, ok, err := s.report(target, k)
	if err != nil || !ok {
		return nil, err
	}
	return &r, nil
}
