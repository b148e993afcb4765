package agent

import (
	"context"
	"strings"
	"time"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/ondemand"
)

// The cluster is asked every offerEvery what it serves and which properties it has. The parent is
// told when that has changed. What failed is asked again after describeRetry.
const offerEvery = time.Minute

// tellOffer tells the parent what the cluster offers until ctx ends.
func (a *agent) tellOffer(ctx context.Context) {
	for {
		again := offerEvery
		if offer, err := a.clusterOffer(ctx); err != nil {
			a.Log.Debug("the target does not say what it serves", "err", err)
			again = describeRetry
		} else {
			a.conditions.ReportOffer(offer)
		}
		if !ondemand.Pause(ctx, again) {
			return
		}
	}
}

func (a *agent) clusterOffer(ctx context.Context) (*tunnel.ClusterOffer, error) {
	ctx, cancel := context.WithTimeout(ctx, describeTime)
	defer cancel()
	client, err := a.clients.For(target.RootSpace)
	if err != nil {
		return nil, err
	}
	offer, about := &tunnel.ClusterOffer{}, ""
	own := func(group string) bool { return !tunnel.BuiltInGroup(group) }
	err = client.APIs(ctx, own, func(group, version string, resources []string) {
		served := strings.TrimPrefix(group+"/"+version, "/")
		offer.Versions = append(offer.Versions, served)
		if !own(group) {
			return
		}
		for _, r := range resources {
			offer.Resources = append(offer.Resources, served+"/"+r)
			if group == "about.k8s.io" && r == "clusterproperties" && version > about {
				about = version
			}
		}
	})
	if err != nil {
		return nil, err
	}
	if about != "" {
		offer.Properties = map[string]string{}
		err = client.Properties(ctx, about, func(p *target.ClusterProperty) {
			offer.Properties[p.Metadata.Name] = p.Spec.Value
		})
	}
	return offer.Bounded(), err
}
