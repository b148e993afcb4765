package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"skerry.dev/skerry/testenv/figure"
)

// What a soak puts on the target: soakApps Deployments of soakReplicas Pods, and ConfigMaps that make it soakObjects in all.
const (
	soakObjects  = 1000
	soakApps     = 300
	soakReplicas = 10
	// soakHistory is small, so that the number of ReplicaSets is steady after five minutes of churn.
	soakHistory = 1
)

// Each round of churn changes some ConfigMaps, rolls one Deployment, and makes and deletes one object.
const (
	soakRound   = time.Second
	soakChanges = 5
	soakSamples = 10 * time.Second
	// soakCrowd is how many Pods there may be: where the cluster is too slow to remove the old ones no Deployment is rolled, because what
	// grows then is what there is to know.
	soakCrowd = soakApps * soakReplicas * 11 / 10
)

// soak churns 1,000 objects and 3,000 Pods for a while and prints what the agent and the center hold, and by how much that grows: the
// median of the last quarter of the samples against that of the second; the first quarter is for warming up.
func (b *bench) soak(ctx context.Context) error {
	if err := b.nodes(ctx, soakApps*soakReplicas/100+8); err != nil {
		return err
	}
	b.say("make %d objects", soakObjects)
	for i := range soakObjects - soakApps {
		if err := b.ours.Create(ctx, configMaps(ourNS), configMap(soakName(i))); err != nil {
			return err
		}
	}
	for i := range soakApps {
		app := deployment(soakName(i), soakReplicas)
		app["spec"].(object)["revisionHistoryLimit"] = soakHistory
		if err := b.ours.Create(ctx, deployments(ourNS), app); err != nil {
			return err
		}
	}
	if err := b.runningPods(ctx, b.ours, soakApps*soakReplicas); err != nil {
		return err
	}
	loaded, err := settled(ctx, b.agent.PID())
	if err != nil {
		return err
	}
	if err := b.printMemory("agent-1000-objects-3000-pods", "", loaded); err != nil {
		return err
	}
	b.say("churn for %s", b.soakFor)
	began, sampled, most, crowded := time.Now(), time.Time{}, 0, false
	var agent, center []memory
	for round := 0; time.Since(began) < b.soakFor; round++ {
		if err := b.churn(ctx, round, !crowded); err != nil {
			return err
		}
		if time.Since(sampled) >= soakSamples {
			sampled = time.Now()
			n, err := b.countPods(ctx)
			if err != nil {
				return err
			}
			most, crowded = max(most, n), n > soakCrowd
			for _, p := range []struct {
				pid int
				to  *[]memory
			}{{b.agent.PID(), &agent}, {b.center.PID(), &center}} {
				m, err := memoryOf(p.pid)
				if err != nil {
					return err
				}
				*p.to = append(*p.to, m)
			}
		}
		select {
		case <-time.After(time.Until(began.Add(time.Duration(round+1) * soakRound))):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	for _, p := range []struct {
		name    string
		samples []memory
	}{{"agent", agent}, {"center", center}} {
		if err := b.printGrowth(p.name, p.samples, most); err != nil {
			return err
		}
	}
	return nil
}

func soakName(i int) string { return fmt.Sprintf("soak-%d", i) }

// countPods is how many Pods the target has, those that are going included.
func (b *bench) countPods(ctx context.Context) (int, error) {
	data, err := b.edge.Do(ctx, "GET", pods(ourNS)+"?limit=1", "", nil)
	if err != nil {
		return 0, err
	}
	var page struct {
		Metadata struct {
			Remaining int `json:"remainingItemCount"`
		} `json:"metadata"`
		Items []json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(data, &page); err != nil {
		return 0, fmt.Errorf("count pods: %w", err)
	}
	return page.Metadata.Remaining + len(page.Items), nil
}

// churn is one round. It rolls a Deployment when it may.
func (b *bench) churn(ctx context.Context, round int, roll bool) error {
	for i := range soakChanges {
		name := soakName((round*soakChanges + i) % (soakObjects - soakApps))
		if err := b.ours.MergePatch(ctx, configMaps(ourNS)+"/"+name, object{"data": object{"round": fmt.Sprint(round)}}); err != nil {
			return err
		}
	}
	if roll {
		rolled := deployments(ourNS) + "/" + soakName(round%soakApps)
		if err := b.ours.MergePatch(ctx, rolled, object{"spec": object{"template": object{"metadata": object{"annotations": object{
			"example.com/round": fmt.Sprint(round)}}}}}); err != nil {
			return err
		}
	}
	name := fmt.Sprintf("comes-and-goes-%d", round)
	if err := b.ours.Create(ctx, configMaps(ourNS), configMap(name)); err != nil {
		return err
	}
	if round == 0 {
		return nil
	}
	_, err := b.ours.Do(ctx, "DELETE", fmt.Sprintf("%s/comes-and-goes-%d", configMaps(ourNS), round-1), "", nil)
	return err
}

func (b *bench) printGrowth(name string, samples []memory, most int) error {
	quarter := len(samples) / 4
	if quarter < 3 {
		return fmt.Errorf("%d samples of %s are too few to tell its growth: soak for longer", len(samples), name)
	}
	of := func(part []memory, value func(memory) float64) float64 {
		var v []float64
		for _, m := range part {
			v = append(v, value(m))
		}
		return figure.Median(v)
	}
	for _, v := range []struct {
		what  string
		value func(memory) float64
	}{{"rss", func(m memory) float64 { return m.rss }}, {"anon", func(m memory) float64 { return m.anon }}} {
		before, after := of(samples[quarter:2*quarter], v.value), of(samples[3*quarter:], v.value)
		if err := b.print(figure.Line{Figure: fmt.Sprintf("%s-%s-growth", name, v.what), Value: 100 * (after - before) / before, Unit: "%", Goal: figure.Of(1),
			N: len(samples), Note: fmt.Sprintf("%.1f -> %.1f MiB in %s of churn; at most %d Pods", before/1024, after/1024, b.soakFor, most)}); err != nil {
			return err
		}
	}
	return nil
}
