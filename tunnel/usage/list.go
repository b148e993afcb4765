package usage

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"skerry.dev/skerry/tunnel/exchange"
)

const (
	// together is how many targets are asked side by side.
	together = 16
	// maxTargets is how many targets are asked for one list.
	maxTargets = 256
	// maxNamed is how many targets are named one by one, where many say nothing.
	maxNamed = 20
)

// Result is what targets said.
type Result struct {
	// Pods are sorted by namespace and name.
	Pods []Metrics
	// Missing are the targets that said nothing, sorted by name.
	Missing []Missing
	// Warnings are what targets said that their answers lack.
	Warnings []string
	// Sites are the targets that answered, each with those below it that the answer came through.
	Sites []string
}

// Missing is a target that said nothing about Pods that run there.
type Missing struct {
	Target string
	Pods   int
	Fault  *exchange.Fault
}

// List asks for what Pods use: those of from.Namespace, or of all where that is empty. Each target
// is asked once. From says who asks, and for which space.
func List(ctx context.Context, targets exchange.Sites, from *exchange.Request, pods []Pod) Result {
	byTarget := map[string]map[Metadata]string{} // to names in the space
	for _, p := range pods {
		if byTarget[p.Place.Target] == nil {
			byTarget[p.Place.Target] = map[Metadata]string{}
		}
		byTarget[p.Place.Target][Metadata{Name: p.Place.Pod, Namespace: p.Namespace}] = p.Name
	}
	a := &asking{targets: targets, from: from}
	a.left.Store(maxAnswers)
	within, cancel := bounded(ctx, listTime)
	defer cancel()
	names := slices.Sorted(maps.Keys(byTarget))
	var out Result
	var mu sync.Mutex
	var all sync.WaitGroup
	seats := make(chan struct{}, together)
	for _, target := range names[:min(len(names), maxTargets)] {
		seats <- struct{}{}
		all.Go(func() {
			defer func() { <-seats }()
			found, warnings, site, err := a.ask(ctx, within, target, a.view(from.Namespace, ""))
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				out.Missing = append(out.Missing, Missing{target, len(byTarget[target]), exchange.FaultOf(err)})
				return
			}
			out.Sites = append(out.Sites, site)
			for _, w := range warnings {
				out.Warnings = append(out.Warnings, "site "+site+": "+w)
			}
			out.Pods = append(out.Pods, renamed(found, byTarget[target])...)
		})
	}
	all.Wait()
	if len(names) > maxTargets {
		for _, target := range names[maxTargets:] {
			out.Missing = append(out.Missing, Missing{target, len(byTarget[target]), errTooMany})
		}
	}
	out.sort()
	return out
}

var errTooMany = &exchange.Fault{
	Code: http.StatusRequestEntityTooLarge, Reason: "RequestEntityTooLarge",
	Message: fmt.Sprintf("not asked, because one list asks %d sites: narrow it by -n or -l", maxTargets),
}

// renamed returns those metrics that are of Pods which were asked for, with their names in the
// space.
func renamed(found []Metrics, names map[Metadata]string) (out []Metrics) {
	for _, m := range found {
		name, known := names[m.Metadata]
		if !known {
			continue
		}
		delete(names, m.Metadata) // a Pod has one
		m.Metadata.Name = name
		out = append(out, m)
	}
	return out
}

func (r *Result) sort() {
	slices.SortFunc(r.Pods, func(a, b Metrics) int {
		return cmp.Or(cmp.Compare(a.Metadata.Namespace, b.Metadata.Namespace),
			cmp.Compare(a.Metadata.Name, b.Metadata.Name))
	})
	slices.SortFunc(r.Missing, func(a, b Missing) int { return cmp.Compare(a.Target, b.Target) })
	slices.Sort(r.Warnings)
	slices.Sort(r.Sites)
}

// Lacks says what the list lacks, one text for each target that said nothing; where these are many,
// the last text names the rest together.
func (r *Result) Lacks() []string {
	var out []string
	for _, m := range r.Missing[:min(len(r.Missing), maxNamed)] {
		out = append(out, fmt.Sprintf("%s: no metrics of %s: %s", m.Target, count(m.Pods), m.Fault.Message))
	}
	if more := len(r.Missing) - maxNamed; more > 0 {
		pods := 0
		var names []string
		for _, m := range r.Missing[maxNamed:] {
			pods += m.Pods
			names = append(names, m.Target)
		}
		out = append(out, fmt.Sprintf("no metrics of %s of %d further sites: %s",
			count(pods), more, strings.Join(names, ", ")))
	}
	return append(out, r.Warnings...)
}

func count(pods int) string {
	if pods == 1 {
		return "1 pod"
	}
	return fmt.Sprintf("%d pods", pods)
}

// Fault is why there is nothing at all, nil when a target answered, or none was asked.
func (r *Result) Fault() *exchange.Fault {
	if len(r.Sites) > 0 || len(r.Missing) == 0 {
		return nil
	}
	out := *r.Missing[0].Fault
	for _, m := range r.Missing {
		if m.Fault.Code != out.Code {
			out.Code, out.Reason = http.StatusServiceUnavailable, "ServiceUnavailable"
		}
		out.After = max(out.After, m.Fault.After)
	}
	if out.Code == http.StatusServiceUnavailable {
		out.After = max(out.After, retryAfter)
	}
	if len(r.Missing) > 1 {
		out.Message = "no site says what its pods use: " + strings.Join(r.Lacks(), "; ")
	}
	return &out
}

// Get asks for what one Pod uses. The error is a *exchange.Fault.
func Get(ctx context.Context, targets exchange.Sites, from *exchange.Request, p Pod) (
	m Metrics, warnings []string, err error,
) {
	a := &asking{targets: targets, from: from}
	a.left.Store(maxAnswers)
	within, cancel := bounded(ctx, targetTime)
	defer cancel()
	found, warnings, site, err := a.ask(ctx, within, p.Place.Target, a.view(p.Namespace, p.Place.Pod))
	if err != nil {
		return m, nil, err
	}
	there := Metadata{Name: p.Place.Pod, Namespace: p.Namespace}
	if len(found) != 1 || found[0].Metadata != there {
		return m, nil, &exchange.Fault{
			Code: http.StatusBadGateway, Reason: "InternalError",
			Message: "site " + site + " answers with the metrics of another pod",
		}
	}
	found[0].Metadata.Name = p.Name
	return found[0], warnings, nil
}
