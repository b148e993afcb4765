package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"skerry.dev/skerry/testenv/figure"
)

// reconnected is how many objects are on the site when it comes back.
const reconnected = 10_000

// reconnectRTT is the round trip of the link that it comes back over. Without any, whoever is busy
// for a millisecond makes the other side send its part of the handshake again.
const reconnectRTT = 20 * time.Millisecond

// away is for how long a link is down: after that no session is left, on neither side.
const away = 80 * time.Second

// bytesPerReconnect counts what it costs when an agent comes back from an outage in which k of its
// objects changed: when its link was down, and when its process ended and starts again, which is
// the most that coming back can cost.
func (b *bench) bytesPerReconnect(ctx context.Context) error {
	b.say("place %d objects, and let the agent come back", reconnected)
	if err := b.placeMany(ctx); err != nil {
		return err
	}
	b.link.OnlyUDP()
	b.link.SetRTT(reconnectRTT)
	defer b.link.SetRTT(0)
	changed := 0
	for _, way := range []outage{
		{"wire-reconnect", "the link was down", 2, b.linkDown, b.linkUp},
		{"wire-restarted", "the agent restarted", 3, func(context.Context) error { b.agent.Stop(); return nil },
			b.agentStarts},
	} {
		nothing := 0.0
		for _, k := range []int{0, 1, 100} {
			var all, own []float64
			for range way.times {
				took, err := b.comesBack(ctx, way, k, &changed)
				if err != nil {
					return err
				}
				all, own = append(all, took.bytes), append(own, took.own)
			}
			if k == 0 {
				nothing = figure.Median(own)
			}
			lines := []figure.Line{{Figure: fmt.Sprintf("%s-%d-changed", way.name, k), Value: figure.Median(all),
				Unit: "B", Goal: figure.Of(float64(12<<10 + 400*k)), N: len(all),
				Note: fmt.Sprintf("%s; %d objects and as many reports are there; RTT %s; each: %.0f; of that behind the "+
					"handshake: %.0f", way.what, reconnected, reconnectRTT, all, own)}}
			if k == 1 { // a handshake's packets have 1,200 bytes, and how many there are is chance
				lines = append(lines, figure.Line{Figure: way.name + "-1-changed-more",
					Value: figure.Median(own) - nothing, Unit: "B", Goal: figure.Of(1 << 10), N: len(own),
					Note: "than when nothing changed, behind the handshake"})
			}
			for _, l := range lines {
				if err := b.print(l); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// outage is one way to leave and to come back.
type outage struct {
	name, what string
	times      int
	leave      func(context.Context) error
	back       func(context.Context) error
}

// returned is what coming back took: all bytes, and those behind the handshake.
type returned struct{ bytes, own float64 }

// comesBack lets the agent be away while k objects change, and counts what crosses until the link
// is quiet again.
func (b *bench) comesBack(ctx context.Context, o outage, k int, changed *int) (returned, error) {
	if err := errors.Join(b.quiet(ctx), o.leave(ctx)); err != nil {
		return returned{}, err
	}
	for range k {
		*changed++
		name := fmt.Sprint("back-", *changed%reconnected)
		if err := b.ours.MergePatch(ctx, configMaps(ourNS)+"/"+name,
			object{"data": object{"changed": fmt.Sprint(*changed)}}); err != nil {
			return returned{}, err
		}
	}
	if err := b.quiet(ctx); err != nil {
		return returned{}, err
	}
	bytes, shaking := b.link.bytes.Load(), b.link.shaking.Load()
	if err := errors.Join(o.back(ctx), b.isBack(ctx, bytes)); err != nil {
		return returned{}, err
	}
	all := b.link.bytes.Load() - bytes
	return returned{float64(all), float64(all - (b.link.shaking.Load() - shaking))}, nil
}

// placeMany returns when all objects are on the site.
func (b *bench) placeMany(ctx context.Context) error {
	a, err := arrive(ctx, b.edge, configMaps(ourNS), nameOf)
	if err != nil {
		return err
	}
	defer a.stop()
	if err := sideBySide(8, reconnected, func(i int) error {
		return b.ours.Create(ctx, configMaps(ourNS), configMap(fmt.Sprint("back-", i)))
	}); err != nil {
		return err
	}
	for i := range reconnected { // each within half a minute after the one before it
		if _, err := a.wait(ctx, fmt.Sprint("back-", i)); err != nil {
			return err
		}
	}
	return nil
}

// linkDown cuts the link until no session is left.
func (b *bench) linkDown(ctx context.Context) error {
	b.link.Cut(true)
	select {
	case <-time.After(away):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (b *bench) linkUp(context.Context) error {
	b.link.Cut(false)
	return nil
}

func (b *bench) agentStarts(context.Context) error {
	agent, err := b.ResumeAgent(b.link.Address, edge, b.edgeConfig)
	if err != nil {
		return err
	}
	b.agent = agent
	b.stop = append(b.stop, agent.Stop)
	return nil
}

// isBack returns when the agent has come back and the link is quiet again.
func (b *bench) isBack(ctx context.Context, before int64) error {
	for began := time.Now(); b.link.bytes.Load() == before; {
		if time.Since(began) > 30*time.Second {
			return errors.New("the agent did not come back")
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	time.Sleep(time.Second) // it reports when it has looked at its target
	return b.quiet(ctx)
}
