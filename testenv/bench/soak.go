package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// What a soak puts on the target: soakApps Deployments of soakReplicas Pods, and ConfigMaps that
// make it soakObjects in all.
const (
	soakObjects  = 1000
	soakApps     = 300
	soakReplicas = 10
	// soakHistory is small, so that the number of ReplicaSets is steady after five minutes of
	// churn.
	soakHistory = 1
)

// Each round of churn changes some ConfigMaps, rolls one Deployment, and makes and deletes one
// object.
const (
	soakRound   = time.Second
	soakChanges = 5
	// soakCrowd is how many Pods there may be: where the cluster is too slow to remove the old ones
	// no Deployment is rolled, because what grows then is what there is to know.
	soakCrowd = soakApps * soakReplicas * 11 / 10
)

// soak churns 1,000 objects and 3,000 Pods for a while and prints what the agent and the center
// hold, and by how much that grows once they are warm.
func (b *bench) soak(ctx context.Context) error {
	if b.soakFor < soakLeast {
		return fmt.Errorf("soak for %s at least: the first %s are for getting warm", soakLeast, soakWarm)
	}
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
	grown := []*growth{{name: "agent", pid: b.agent.PID(), metrics: b.scraped.agent},
		{name: "center", pid: b.center.PID(), metrics: b.scraped.center}}
	began, sampled, most, crowded := time.Now(), time.Time{}, 0, false
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
			for _, g := range grown {
				if err := g.sample(ctx, sampled.Sub(began), n); err != nil {
					return err
				}
				b.say("%s after %s: %s; %d Pods", g.name, sampled.Sub(began).Round(time.Second), g.last(), n)
			}
		}
		select {
		case <-time.After(time.Until(began.Add(time.Duration(round+1) * soakRound))):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	for _, g := range grown {
		if err := g.print(b.report, fmt.Sprintf("(at most %d) in %s of churn, the first %s left out", most, b.soakFor,
			soakWarm)); err != nil {
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
		if err := b.ours.MergePatch(ctx, configMaps(ourNS)+"/"+name,
			object{"data": object{"round": fmt.Sprint(round)}}); err != nil {
			return err
		}
	}
	if roll {
		rolled := deployments(ourNS) + "/" + soakName(round%soakApps)
		if err := b.ours.MergePatch(ctx, rolled,
			object{"spec": object{"template": object{"metadata": object{"annotations": object{
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
