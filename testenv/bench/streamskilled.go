package bench

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"skerry.dev/skerry/testenv/drive"
	"skerry.dev/skerry/testenv/figure"
)

// size is what a process holds.
type size struct{ goroutines, descriptors, rss float64 }

// sizes returns what each process holds after a time.
func (w *streamWays) sizes(ctx context.Context, after time.Duration) ([]size, error) {
	select {
	case <-time.After(after):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	var all []size
	for _, p := range w.watched {
		var s size
		err := scrape(ctx, string(p.metrics), func(family string, value float64) {
			switch family {
			case "go_goroutines":
				s.goroutines = value
			case "process_open_fds":
				s.descriptors = value
			}
		})
		if err != nil {
			return nil, err
		}
		m, err := memoryOf(p.process.PID())
		if err != nil {
			return nil, err
		}
		s.rss = m.rss
		all = append(all, s)
	}
	return all, nil
}

// kill opens a stream through a relay and breaks it at one stage.
type kill struct {
	name string
	of   int // one of so many streams is of this kind; 0 is all that is left
	run  func(ctx context.Context, k *drive.Kube, pod string) error
}

var kills = []kill{
	{"after the command has begun", 50, func(ctx context.Context, k *drive.Kube, pod string) error {
		return upgraded(
			ctx,
			k,
			pod+"/exec?stdout=true&command=/app&command=env",
			"v5.channel.k8s.io",
			0,
		)
	}},
	{"in the command's output", 50, func(ctx context.Context, k *drive.Kube, pod string) error {
		return upgraded(
			ctx,
			k,
			pod+"/exec?stdout=true&command=/app&command=env",
			"v5.channel.k8s.io",
			1,
		)
	}},
	{"after a port is forwarded", 10, func(ctx context.Context, k *drive.Kube, pod string) error {
		return upgraded(ctx, k, pod+"/portforward?ports=8080", "SPDY/3.1+portforward.k8s.io", 0)
	}},
	{
		"in the middle of the request",
		10,
		func(ctx context.Context, k *drive.Kube, pod string) error {
			conn, err := k.Dial(ctx)
			if err != nil {
				return err
			}
			defer conn.Close()
			head, err := conn.Head(pod+"/log?follow=true", "")
			if err == nil {
				_, err = io.WriteString(conn, head[:len(head)/2])
			}
			return err
		},
	},
	{"behind the request", 6, func(ctx context.Context, k *drive.Kube, pod string) error {
		conn, err := k.Dial(ctx)
		if err != nil {
			return err
		}
		defer conn.Close()
		head, err := conn.Head(pod+"/log?follow=true", "")
		if err == nil {
			_, err = io.WriteString(conn, head)
		}
		return err
	}},
	{
		"behind the head of the answer",
		5,
		func(ctx context.Context, k *drive.Kube, pod string) error { return followed(ctx, k, pod, 0) },
	},
	{
		"behind the first byte",
		4,
		func(ctx context.Context, k *drive.Kube, pod string) error { return followed(ctx, k, pod, 1) },
	},
	{"at its end", 0, func(ctx context.Context, k *drive.Kube, pod string) error {
		_, err := k.Do(ctx, http.MethodGet, pod+"/log?tailLines=1", "", nil)
		return err
	}},
}

// upgraded upgrades a connection, reads so many bytes and breaks it.
func upgraded(ctx context.Context, k *drive.Kube, path, protocol string, bytes int) error {
	conn, err := k.Dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	if _, err := conn.Get(path, protocol, http.StatusSwitchingProtocols); err != nil {
		return err
	}
	_, err = io.ReadFull(conn.In, make([]byte, bytes))
	return err
}

// followed follows a log for so many bytes and breaks the connection.
func followed(ctx context.Context, k *drive.Kube, pod string, bytes int) error {
	conn, err := k.Dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	res, err := conn.Get(pod+"/log?follow=true", "", http.StatusOK)
	if err == nil {
		_, err = io.ReadFull(res.Body, make([]byte, bytes))
	}
	return err
}

// killers is how many streams are open side by side; a space may have 100.
const killers = 20

// killedStreams opens streams through one relay, kills each at some stage, and says what the
// processes hold then more than before.
func (b *bench) killedStreams(ctx context.Context, w *streamWays, before []size) error {
	b.say("open %d streams through one relay and kill them", b.streamsToKill)
	began := time.Now()
	var next, refused atomic.Int64
	var last error
	var mu sync.Mutex
	var all sync.WaitGroup
	for range killers {
		all.Go(func() {
			for ctx.Err() == nil {
				i := next.Add(1)
				if i > int64(b.streamsToKill) {
					return
				}
				if err := kindOf(i).run(ctx, w.ours, pods(streamsNS(1))+"/web"); err != nil {
					refused.Add(1)
					mu.Lock()
					last = fmt.Errorf("%s: %w", kindOf(i).name, err)
					mu.Unlock()
				}
			}
		})
	}
	all.Wait()
	took := time.Since(began)
	after, err := w.sizes(ctx, 2*time.Minute)
	if err != nil {
		return err
	}
	note := fmt.Sprintf(
		"2 min after the last; opened in %s, %d failed otherwise than meant (last: %v)",
		took.Round(time.Second),
		refused.Load(),
		last,
	)
	for i, p := range w.watched {
		if p.name != "center" && p.name != "relay" && p.name != "agent-below-one" {
			continue
		}
		for _, f := range []figure.Line{
			{Figure: "goroutines", Value: after[i].goroutines, Floor: &before[i].goroutines, Unit: ""},
			{Figure: "descriptors", Value: after[i].descriptors, Floor: &before[i].descriptors, Unit: ""},
			{Figure: "rss", Value: after[i].rss / 1024, Floor: figure.Of(before[i].rss / 1024), Unit: "MiB"},
		} {
			f.Figure, f.N, f.Note = "killed-streams-"+f.Figure+"-"+p.name, b.streamsToKill, note
			if err := b.print(f); err != nil {
				return err
			}
			note = ""
		}
	}
	if n := refused.Load(); n > int64(b.streamsToKill/10) {
		return fmt.Errorf(
			"%d of %d streams could not be opened, the last one: %w",
			n,
			b.streamsToKill,
			last,
		)
	}
	return nil
}

// kindOf spreads the kinds over all streams.
func kindOf(i int64) kill {
	for _, k := range kills {
		if k.of == 0 || i%int64(k.of) == 0 {
			return k
		}
		i++
	}
	return kills[len(kills)-1]
}
