package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"skerry.dev/skerry/testenv/drive"
	"skerry.dev/skerry/testenv/figure"
)

// How many objects stand in the namespace that is listed, and how many of them one page has.
const (
	apiObjects, apiPage = 13000, 500
	apiNS               = "api"
	// apiTimes is how often what a percentile of 99 is told of is done: it is the twentieth slowest
	// then, and not one or two that the machine held up.
	apiTimes = 2000
)

// api measures the API of one space beside an upstream API server on etcd: the same requests by the
// same client, taking turns.
func (b *bench) api(ctx context.Context) error {
	b.say("start a center, and an upstream API server on etcd")
	c, err := b.StartCenter(ctx, "api", "")
	if err != nil {
		return err
	}
	defer c.Stop()
	if _, err := b.Run(ctx, b.Skerry, "space", "create", space, "--kubeconfig", c.Kubeconfig); err != nil {
		return err
	}
	config, err := b.SpaceKubeconfig(ctx, c, space)
	if err != nil {
		return err
	}
	ours, err := drive.OpenKube(config)
	if err != nil {
		return err
	}
	p, err := b.startPeer(ctx)
	if err != nil {
		return err
	}
	defer p.stop()
	both := &duel{base: &server{Kube: p.kube}, ours: &server{Kube: ours}, bench: b}
	for _, s := range []*server{both.base, both.ours} {
		if err := s.Create(ctx, "/api/v1/namespaces", object{"metadata": object{"name": apiNS}}); err != nil {
			return err
		}
	}
	for _, step := range []func(context.Context) error{both.writes, both.fill, both.reads, both.watches} {
		if err := step(ctx); err != nil {
			return fmt.Errorf("%w\n--- center\n%s\n--- upstream\n%s", err, drive.Tail(c.Log, 10), drive.Tail(p.api.Log, 10))
		}
	}
	return nil
}

// server is one of the two that are compared.
type server struct {
	*drive.Kube
	made int
}

// create makes the next object.
func (s *server) create(ctx context.Context) (name string, err error) {
	s.made++
	name = fmt.Sprintf("object-%d", s.made)
	return name, s.Create(ctx, configMaps(apiNS), configMap(name))
}

// duel compares two servers.
type duel struct {
	base, ours *server
	*bench
}

// measureFunc does something once with a server and returns how long it took.
type measureFunc func(context.Context, *server) (time.Duration, error)

// turns has both servers do the same n times in all, in several turns, and prints the percentiles.
// The server that begins changes from turn to turn, and up to 40 times are done in turns of one. So
// other load of the machine, and data that grows, meet both servers alike.
func (d *duel) turns(ctx context.Context, name string, n int, percentiles []float64, measure measureFunc) error {
	turns := 4
	if n <= 40 {
		turns = n
	}
	took := map[*server][]time.Duration{}
	for turn := range turns {
		order := []*server{d.base, d.ours}
		if turn%2 == 1 {
			slices.Reverse(order)
		}
		for _, s := range order {
			for range n / turns {
				t, err := measure(ctx, s)
				if err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
				took[s] = append(took[s], t)
			}
		}
	}
	for _, p := range percentiles {
		if err := d.print(figure.Line{Figure: fmt.Sprintf("api-%s-p%.0f", name, p),
			Value: figure.Percentile(took[d.ours], p), Unit: "ms",
			Floor: figure.Of(figure.Percentile(took[d.base], p)), N: n, Note: "goal: ratio <= 1.2"}); err != nil {
			return err
		}
	}
	return nil
}

// timed returns how long f takes.
func timed(f func() error) (time.Duration, error) {
	began := time.Now()
	err := f()
	return time.Since(began), err
}

func (d *duel) writes(ctx context.Context) error {
	d.say("create, one after another and by 16 writers")
	create := func(ctx context.Context, s *server) (time.Duration, error) {
		return timed(func() error { _, err := s.create(ctx); return err })
	}
	if err := d.turns(ctx, "create", apiTimes, []float64{50, 99}, create); err != nil {
		return err
	}
	turn := 0
	patch := func(ctx context.Context, s *server) (time.Duration, error) {
		turn++
		return timed(func() error {
			return s.MergePatch(ctx, configMaps(apiNS)+"/object-1", object{"data": object{"turn": fmt.Sprint(turn)}})
		})
	}
	if err := d.turns(ctx, "patch", apiTimes, []float64{50, 99}, patch); err != nil {
		return err
	}
	createMany := func(ctx context.Context, s *server) (time.Duration, error) {
		return timed(func() error { return s.createMany(ctx, 320) })
	}
	return d.turns(ctx, "create-320-by-16", 20, []float64{50}, createMany)
}

// createMany makes n objects by 16 writers.
func (s *server) createMany(ctx context.Context, n int) error {
	first := s.made + 1
	s.made += n
	return sideBySide(16, n, func(i int) error {
		return s.Create(ctx, configMaps(apiNS), configMap(fmt.Sprintf("object-%d", first+i)))
	})
}

// fill brings both to the number of objects that is listed.
func (d *duel) fill(ctx context.Context) error {
	for _, s := range []*server{d.base, d.ours} {
		if err := s.createMany(ctx, apiObjects-s.made); err != nil {
			return err
		}
	}
	return nil
}

func (d *duel) reads(ctx context.Context) error {
	d.say("get and list of %d objects", apiObjects)
	get := func(path string) func(context.Context, *server) (time.Duration, error) {
		return func(ctx context.Context, s *server) (time.Duration, error) {
			return timed(func() error { _, err := s.Do(ctx, "GET", path, "", nil); return err })
		}
	}
	page := fmt.Sprintf("%s?limit=%d", configMaps(apiNS), apiPage)
	for _, m := range []struct {
		name    string
		n       int
		measure func(context.Context, *server) (time.Duration, error)
	}{
		{"get", apiTimes, get(configMaps(apiNS) + "/object-1")},
		{"list-500", 80, get(page)},
		{"list-cached", 40, get(configMaps(apiNS) + "?resourceVersion=0")},
		{"list-pages", 16, func(ctx context.Context, s *server) (time.Duration, error) {
			return timed(func() error { return s.listPages(ctx, page) })
		}},
		// A list that follows a write must show it, and may not wait for it longer than the write
		// itself took.
		{"list-500-after-write", 80, func(ctx context.Context, s *server) (time.Duration, error) {
			if _, err := s.create(ctx); err != nil {
				return 0, err
			}
			return timed(func() error { _, err := s.Do(ctx, "GET", page, "", nil); return err })
		}},
	} {
		percentiles := []float64{50}
		if m.n >= 80 {
			percentiles = []float64{50, 99}
		}
		if err := d.turns(ctx, m.name, m.n, percentiles, m.measure); err != nil {
			return err
		}
	}
	return nil
}

// listPages reads a whole collection, page after page.
func (s *server) listPages(ctx context.Context, page string) error {
	seen := 0
	for path := page; ; {
		data, err := s.Do(ctx, "GET", path, "", nil)
		if err != nil {
			return err
		}
		var list struct {
			Metadata struct {
				Continue string `json:"continue"`
			} `json:"metadata"`
			Items []json.RawMessage `json:"items"`
		}
		if err := json.Unmarshal(data, &list); err != nil {
			return err
		}
		if seen += len(list.Items); list.Metadata.Continue == "" {
			break
		}
		path = page + "&continue=" + list.Metadata.Continue
	}
	if seen < s.made {
		return fmt.Errorf("%d objects were listed, %d were made", seen, s.made)
	}
	return nil
}

// watches measures from the answer to a write to its event, of a watch that was there before.
func (d *duel) watches(ctx context.Context) error {
	d.say("watch")
	arrived := map[*server]*arrivals{}
	for _, s := range []*server{d.base, d.ours} {
		a, err := arrive(ctx, s.Kube, configMaps(apiNS), nameOf)
		if err != nil {
			return err
		}
		defer a.stop()
		arrived[s] = a
	}
	writeToEvent := func(ctx context.Context, s *server) (time.Duration, error) {
		began := time.Now()
		name, err := s.create(ctx)
		if err != nil {
			return 0, err
		}
		at, err := arrived[s].wait(ctx, name)
		return at.Sub(began), err
	}
	return d.turns(ctx, "write-to-event", apiTimes/2, []float64{50, 99}, writeToEvent)
}
