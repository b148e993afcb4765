package doctor

import (
	"context"
	"fmt"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/tunnel/doctor"
)

// everySite are kinds that every application has: a cluster that refuses them takes nothing.
var everySite = []struct{ group, resource string }{{"", "namespaces"}, {"", "configmaps"}, {"", "pods"},
	{"apps", "deployments"}}

// maxWebhooks bounds the webhooks that are asked for; a healthy cluster has tens.
const maxWebhooks = 200

// webhooks looks for webhooks that nothing answers and without which the cluster refuses what the
// agent writes. It asks none of them.
func (s *site) webhooks(ctx context.Context) []doctor.Finding {
	seen := 0
	var all []*target.Webhook
	err := s.client.Webhooks(ctx, func(w *target.Webhook) {
		if seen++; seen <= maxWebhooks {
			all = append(all, w)
		}
	})
	if err != nil {
		return one(doctor.Skip("the cluster does not say which webhooks it has: %s", err))
	}
	var worst *doctor.Finding
	services := map[string]string{}
	for _, w := range all {
		at := w.Namespace + "/" + w.Service
		why, known := services[at]
		if !known {
			if why, err = s.client.Answers(ctx, w.Namespace, w.Service); err != nil {
				return one(doctor.Skip("the cluster does not say what its Services have: %s", err))
			}
			services[at] = why
		}
		if why == "" {
			continue
		}
		found := judgeWebhook(w, at, why)
		if worst == nil || worst.Verdict == doctor.Warning {
			worst = &found
		}
	}
	if worst != nil {
		return one(*worst)
	}
	return one(doctor.Good("%d that the cluster cannot do without", seen))
}

// judgeWebhook is the finding for a webhook that nothing answers.
func judgeWebhook(w *target.Webhook, service, why string) doctor.Finding {
	seen := fmt.Sprintf("webhook %s of %s asks Service %s: %s", w.Name, w.Configuration, service, why)
	fix := fmt.Sprintf("start what is behind Service %s, or delete %s", service, w.Configuration)
	for _, kind := range everySite {
		if w.Covers(kind.group, kind.resource) {
			return targetWebhook.Fails("%s; %s are refused", seen, kind.resource).Do("%s", fix)
		}
	}
	return targetWebhook.Warns("%s; objects of its rules are refused", seen).Do("%s", fix)
}

// nodes looks whether a node can run anything. A cluster that shows no nodes is no fault.
func (s *site) nodes(ctx context.Context) []doctor.Finding {
	all, ready := 0, 0
	err := s.client.Nodes(ctx, func(n *target.Node) {
		all++
		for _, c := range n.Status.Conditions {
			if c.Type == "Ready" && c.Status == "True" {
				ready++
			}
		}
	})
	switch {
	case err != nil:
		return one(doctor.Skip("the cluster does not say which nodes it has: %s", err))
	case all > 0 && ready == 0:
		return one(targetNoNode.Fails("%d nodes, none of which is ready", all))
	}
	return one(doctor.Good("%d of %d", ready, all))
}
