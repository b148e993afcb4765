package admission

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/warning"
	psapi "k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver/metadata"
	"skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/server/placement"
)

// SiteLevels returns to which Pod Security level each of some targets keeps the Pods of a space; of
// all that the space may use if none is named. Relays are among them.
type SiteLevels func(space string, targets []string) []placement.SecurityLevel

// warnSites warns a user of Pods that sites will refuse: each of those where the object is, or all
// that it could go to. The site decides, so nothing is refused here.
func (p *PodSecurity) warnSites(ctx context.Context, a admission.Attributes) error {
	obj := metadata.Of(a.GetObject())
	if p.Sites == nil || obj == nil || !p.rules.PodSpecExtractor.HasPodSpec(a.GetResource().GroupResource()) ||
		a.GetSubresource() != "" || request.Space(ctx) == request.RootSpace {
		return nil
	}
	versioned, err := secured{a}.GetObject()
	if err != nil {
		return err
	}
	meta, spec, err := p.rules.PodSpecExtractor.ExtractPodSpec(versioned)
	if err != nil || spec == nil {
		return err
	}
	if spec.NodeName != "" && strings.HasPrefix(obj.GetName(), nodeDebugger+spec.NodeName+"-") {
		return p.refuseNodeDebug(ctx, a, meta, spec)
	}
	at := placement.Split(obj.GetAnnotations()[v1alpha1.AnnotationTargets])
	levels := p.Sites(request.Space(ctx), at)
	refusing, level, why := p.refusing(levels, meta, spec)
	if len(refusing) == 0 || len(at) == 0 && len(refusing) < len(levels) {
		return nil
	}
	word, open := "trusted", psapi.LevelPrivileged
	if level == psapi.LevelRestricted && p.allows(psapi.LevelBaseline, meta, spec).Allowed {
		word, open = "baseline", psapi.LevelBaseline
	}
	warning.AddWarning(ctx, "", fmt.Sprintf("%s to Pod Security level %q and will refuse these Pods: %s; its owner can "+
		"allow them: --policy %s of its agent, or podSecurity: [%s=%s] below allow: in agent.yaml",
		keeps(refusing), level, why, word, request.Space(ctx), open))
	return nil
}

// nodeDebugger begins the name of the Pod that kubectl debug node/NODE makes, before the name of the node.
const nodeDebugger = "node-debugger-"

// refuseNodeDebug refuses the Pod by which kubectl debugs a node, where the site of that name will refuse it
// and where the name is a relay's, which runs no Pods: kubectl waits for it and does not say that it does not
// start.
func (p *PodSecurity) refuseNodeDebug(
	ctx context.Context,
	a admission.Attributes,
	meta *metav1.ObjectMeta,
	spec *corev1.PodSpec,
) error {
	levels := p.Sites(request.Space(ctx), []string{spec.NodeName})
	if slices.ContainsFunc(levels, func(l placement.SecurityLevel) bool { return l.Relay }) {
		return admission.NewForbidden(a, fmt.Errorf("%q is a relay, and no machine of a site: it runs no Pods; debug a Pod "+
			"by kubectl debug POD --profile=baseline, and a machine with the kubeconfig of its site's cluster, which its "+
			"owner has", spec.NodeName))
	}
	refusing, level, why := p.refusing(levels, meta, spec)
	if len(refusing) == 0 {
		return nil
	}
	return admission.NewForbidden(a, fmt.Errorf("%s to Pod Security level %q, so its machines are not debugged from a "+
		"space: %s; debug a Pod by kubectl debug POD --profile=%[2]s, and a machine with the kubeconfig of the site's "+
		"cluster, which its owner has", keeps(refusing), level, why))
}

// refusing returns the targets whose level Pods do not keep to, the strictest of those levels, and
// what is wrong with the Pods there.
func (p *PodSecurity) refusing(
	levels []placement.SecurityLevel,
	meta *metav1.ObjectMeta,
	spec *corev1.PodSpec,
) (targets []string, strictest psapi.Level, why string) {
	results := map[psapi.Level]policy.AggregateCheckResult{}
	for _, l := range levels {
		level, err := psapi.ParseLevel(l.Level)
		if err != nil {
			continue // a relay, or a site that is newer than this center
		}
		result, known := results[level]
		if !known {
			result = p.allows(level, meta, spec)
			results[level] = result
		}
		if result.Allowed {
			continue
		}
		targets = append(targets, l.Target)
		if strictest == "" || psapi.CompareLevels(level, strictest) > 0 {
			strictest, why = level, result.ForbiddenDetail()
		}
	}
	return targets, strictest, why
}

// allows holds Pods to a level, in the words of the Pod Security Standards.
func (p *PodSecurity) allows(
	level psapi.Level,
	meta *metav1.ObjectMeta,
	spec *corev1.PodSpec,
) policy.AggregateCheckResult {
	return policy.AggregateCheckResults(
		p.rules.Evaluator.EvaluatePod(psapi.LevelVersion{Level: level, Version: psapi.LatestVersion()}, meta, spec))
}

// keeps begins the sentence about some sites.
func keeps(targets []string) string {
	const most = 3
	named := slices.Clone(targets[:min(most, len(targets))])
	for i := range named {
		named[i] = fmt.Sprintf("%q", named[i])
	}
	switch n := len(targets); {
	case n == 1:
		return "site " + named[0] + " keeps"
	case n > most:
		return fmt.Sprintf("sites %s and %d more keep", strings.Join(named, ", "), n-most)
	}
	return "sites " + strings.Join(named, ", ") + " keep"
}
