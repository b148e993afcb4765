package doctor

import (
	"context"
	"fmt"
	"strings"
	"time"

	"skerry.dev/skerry/agent"
	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/tunnel/doctor"
)

func (s *site) targetChecks() []doctor.Check {
	return []doctor.Check{
		{Name: "target.api", What: "the workload cluster's API answers", Run: s.reach,
			Faults: []doctor.Fault{kubeconfigUnusable, targetDown, targetOverloaded, targetFailing, targetCertificate,
				targetNotKubernetes, targetUnauthorized}},
		{Name: "target.cluster", What: "the workload cluster is this site's", Needs: []string{"target.api"},
			Faults: []doctor.Fault{targetIsCenter, targetOther}, Run: s.sameCluster},
		{Name: "target.version", What: "the workload cluster is recent enough", Needs: []string{"target.cluster"},
			Faults: []doctor.Fault{targetTooOld}, Run: s.version},
		{Name: "target.rights", What: "the agent has the rights that it needs", Needs: []string{"target.version"},
			Faults: []doctor.Fault{targetForbidden}, Run: s.rights},
		{Name: "target.webhooks", What: "the workload cluster's webhooks answer", Needs: []string{"target.rights"},
			Faults: []doctor.Fault{targetWebhook}, Run: s.webhooks},
		{Name: "target.nodes", What: "the workload cluster has a node that is ready", Needs: []string{"target.rights"},
			Faults: []doctor.Fault{targetNoNode}, Run: s.nodes},
	}
}

// reach asks the cluster which one it is. An answer that the agent may not know it is an answer:
// the rights are looked at next.
func (s *site) reach(ctx context.Context) []doctor.Finding {
	if s.TargetErr != nil {
		return one(kubeconfigUnusable.Fails("%s", s.TargetErr))
	}
	clients := target.NewClients(s.Target)
	defer clients.CloseIdle()
	// A clock that is off is a finding of its own, and not that of the cluster's certificate.
	clients.JudgeAt(func() time.Time { return time.Now().Add(-s.offset) })
	client, err := clients.For(target.RootSpace)
	if err != nil {
		return one(kubeconfigUnusable.Fails("%s", err))
	}
	s.client = client
	id, err := client.Identify(ctx)
	_, why, failing := clients.Reach.Failing()
	if !failing {
		if err != nil {
			return one(targetDown.Fails("%s", err))
		}
		s.cluster = id.Cluster
		return one(doctor.Good("cluster %s", id.Cluster))
	}
	reason, advice := target.Unreachable(why)
	switch reason {
	case "Forbidden":
		return one(doctor.Good("it answers"))
	case "Unauthorized":
		return one(targetUnauthorized.Fails("%s", why))
	case "CertificateInvalid":
		return one(targetCertificate.Fails("%s", why))
	case "Overloaded":
		return one(targetOverloaded.Fails("%s", why))
	case "InternalError":
		return one(targetFailing.Fails("%s", why))
	case "NotKubernetes":
		return one(targetNotKubernetes.Fails("%s", why))
	default:
		return one(targetDown.Fails("%s: %s", reason, why).Do("%s", advice))
	}
}

// sameCluster looks whether the kubeconfig leads to a workload cluster, and to the one that this site
// has written to.
func (s *site) sameCluster(ctx context.Context) []doctor.Finding {
	if version, err := s.client.Version(ctx); err == nil && agent.IsCenter(version) {
		return one(targetIsCenter.Fails("its API says that it is version %s", version))
	}
	known := agent.KnownCluster(s.DataDir)
	if known == "" || s.cluster == "" || s.Joining {
		return one(doctor.Good("nothing was written yet"))
	}
	if known != s.cluster {
		return one(targetOther.Fails("the UID of its Namespace kube-system is %s, and this site's cluster has %s",
			s.cluster, known))
	}
	return one(doctor.Good("cluster %s", known))
}

// leastMinor is the oldest supported minor version of Kubernetes 1: the first with stable Pod
// Security admission, by which sites hold spaces to a level.
const leastMinor = 25

func (s *site) version(ctx context.Context) []doctor.Finding {
	version, err := s.client.Version(ctx)
	if err != nil {
		return one(doctor.Skip("the cluster does not say its version: %s", err))
	}
	var major, minor int
	if _, err := fmt.Sscanf(version, "v%d.%d", &major, &minor); err != nil {
		return one(doctor.Skip("the cluster's version %q is none of Kubernetes", version))
	}
	if major < 1 || major == 1 && minor < leastMinor {
		return one(targetTooOld.Fails("the cluster runs %s", version))
	}
	return one(doctor.Good("%s", version))
}

// maxRightsNamed bounds the rights that a finding names.
const maxRightsNamed = 5

func (s *site) rights(ctx context.Context) []doctor.Finding {
	needed, err := agent.Rights(s.SpacesNamespace, s.Impersonate)
	if err != nil {
		return one(doctor.Skip("%s", err))
	}
	var lacking []string
	for _, r := range needed {
		may, err := s.client.May(ctx, r)
		if err != nil {
			return one(doctor.Skip("the cluster does not say which rights the agent has: %s", err))
		}
		if !may {
			lacking = append(lacking, r.String())
		}
	}
	if len(lacking) == 0 {
		return one(doctor.Good("all %d", len(needed)))
	}
	named := strings.Join(lacking[:min(len(lacking), maxRightsNamed)], "; ")
	if n := len(lacking) - maxRightsNamed; n > 0 {
		named += fmt.Sprintf("; and %d more", n)
	}
	return one(targetForbidden.Fails("the agent may not: %s", named))
}
