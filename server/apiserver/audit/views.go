package audit

import (
	"strings"

	auditapi "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"skerry.dev/skerry/server/apiserver/request"
)

// views adds to a policy that each look into a site is written down. A policy of Kubernetes cannot
// say that: to it such a request is one for the resource.
type views struct{ audit.PolicyRuleEvaluator }

// EvaluatePolicyRule implements audit.PolicyRuleEvaluator.
func (v views) EvaluatePolicyRule(a authorizer.Attributes) audit.RequestAuditConfig {
	if !a.IsResourceRequest() || !strings.HasPrefix(a.GetPath(), request.ViewPrefix) {
		return v.PolicyRuleEvaluator.EvaluatePolicyRule(a)
	}
	return audit.RequestAuditConfig{
		Level:      auditapi.LevelMetadata,
		OmitStages: []auditapi.Stage{auditapi.StageRequestReceived},
	}
}
