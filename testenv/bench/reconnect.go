package bench

import (
	"context"
	"fmt"
	"time"

	"skerry.dev/skerry/testenv/figure"
)

// reconnected is how many objects are on the site when it comes back.
const reconnected = 1000

// bytesPerReconnect counts what it costs when an agent comes back from an outage in which k of its objects changed: the agent's process ends
// and starts again, so this is the most that coming back can cost.
func (b *bench) bytesPerReconnect(ctx context.Context) error {
	b.say("place %d objects, and let the agent come back", reconnected)
	a, err := arrive(ctx, b.edge, configMaps(ourNS), nameOf)
	if err != nil {
		return err
	}
	defer a.stop()
	for i := range reconnected {
		if err := b.ours.Create(ctx, configMaps(ourNS), configMap(fmt.Sprint("back-", i))); err != nil {
			return err
		}
	}
	for i := range reconnected { // each within half a minute after the one before it
		if _, err := a.wait(ctx, fmt.Sprint("back-", i)); err != nil {
			return err
		}
	}
	changed := 0
	for _, k := range []int{0, 1, 100} {
		var each []float64
		for range 3 {
			if err := b.quiet(ctx); err != nil {
				return err
			}
			b.agent.Stop()
			for range k {
				changed++
				name := fmt.Sprint("back-", changed%reconnected)
				if err := b.ours.MergePatch(ctx, configMaps(ourNS)+"/"+name, object{"data": object{"changed": fmt.Sprint(changed)}}); err != nil {
					return err
				}
			}
			if err := b.quiet(ctx); err != nil {
				return err
			}
			bytes, err := b.comesBack(ctx)
			if err != nil {
				return err
			}
			each = append(each, bytes)
		}
		if err := b.print(figure.Line{Figure: fmt.Sprintf("wire-reconnect-%d-changed", k), Value: figure.Median(each), Unit: "B", Goal: figure.Of(float64(12<<10 + 400*k)), N: len(each),
			Note: fmt.Sprintf("the agent restarted; %d objects and as many reports are there; handshake included", reconnected)}); err != nil {
			return err
		}
	}
	return nil
}

// comesBack starts the agent again and returns what crossed until the link is quiet.
func (b *bench) comesBack(ctx context.Context) (float64, error) {
	before := b.link.bytes.Load()
	agent, err := b.ResumeAgent(b.link.Address, edge, b.edgeConfig)
	if err != nil {
		return 0, err
	}
	b.agent = agent
	b.stop = append(b.stop, agent.Stop)
	for began := time.Now(); b.link.bytes.Load() == before; {
		if time.Since(began) > 30*time.Second {
			return 0, fmt.Errorf("the agent did not come back")
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	time.Sleep(time.Second) // it reports when it has looked at its target
	if err := b.quiet(ctx); err != nil {
		return 0, err
	}
	return float64(b.link.bytes.Load() - before), nil
}
