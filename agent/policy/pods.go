package policy

import (
	"fmt"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/json"
	psa "k8s.io/pod-security-admission/api"
	checks "k8s.io/pod-security-admission/policy"

	"skerry.dev/skerry/tunnel/exponent"
)

// podSpec is what of a Pod is looked at.
type podSpec = corev1.PodSpec

// templates are where the kinds have their Pods: the path of an object with metadata and spec.
var templates = map[string][]string{
	"pods": {""}, "podtemplates": {"template"}, "replicationcontrollers": {"spec/template"},
	"deployments.apps": {"spec/template"}, "statefulsets.apps": {"spec/template"}, "daemonsets.apps": {"spec/template"},
	"replicasets.apps": {
		"spec/template",
	}, "jobs.batch": {"spec/template"}, "cronjobs.batch": {"spec/jobTemplate/spec/template"},
}

// evaluator has upstream's checks of the Pod Security Standards. It is made when the first Pod is
// looked at.
var evaluator = sync.OnceValues(
	func() (checks.Evaluator, error) { return checks.NewEvaluator(checks.DefaultChecks(), nil) },
)

// template checks the Pods that an object makes.
func (p *Policy) template(space, namespace, at string, body []byte, names func(string) bool) error {
	var pod struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
		Spec     podSpec           `json:"spec"`
	}
	if below := field(body, at); below == nil || json.Unmarshal(below, &pod) != nil {
		return nil
	}
	if err := p.checkAccount(&pod.Spec, namespace, names); err != nil {
		return err
	}
	if err := p.checkTokens(&pod.Spec); err != nil {
		return err
	}
	if err := p.checkPriority(space, &pod.Spec); err != nil {
		return err
	}
	if err := p.checkVolumes(space, &pod.Spec); err != nil {
		return err
	}
	return p.checkSecurity(space, &pod.Metadata, &pod.Spec)
}

// Debug refuses containers that a space adds to a running Pod with this spec. Both are JSON. The cluster
// checks them, too, where it enforces Pod Security by itself. What cannot be read it refuses.
func (p *Policy) Debug(space string, spec, containers []byte) error {
	if field := exponent.Find(containers); field != "" {
		return refuse(ReasonField, "", "", "%.200s has an exponent with which the site's API server would compute for hours",
			field)
	}
	var pod podSpec
	var added []corev1.EphemeralContainer
	if json.Unmarshal(spec, &pod) != nil || json.Unmarshal(containers, &added) != nil {
		return nil
	}
	pod.EphemeralContainers = append(pod.EphemeralContainers, added...)
	if err := p.checkSecurity(space, &metav1.ObjectMeta{}, &pod); err != nil {
		return fmt.Errorf("%w; kubectl debug --profile=%s keeps to it", err, p.Level(space))
	}
	return nil
}

// checkPriority refuses the classes of Kubernetes itself: such a Pod drives out those of others, also
// those that the cluster cannot do without.
func (p *Policy) checkPriority(space string, spec *podSpec) error {
	if !strings.HasPrefix(spec.PriorityClassName, "system-") || p.Level(space) == psa.LevelPrivileged {
		return nil
	}
	return refuse(ReasonPodSecurity, "podSecurity", "["+space+"=privileged]",
		"PriorityClass %q is for what the cluster itself needs: its Pods drive out those of everybody else",
		spec.PriorityClassName)
}

// checkSecurity holds Pods to the level of the space, in the words of the Pod Security Standards.
func (p *Policy) checkSecurity(space string, meta *metav1.ObjectMeta, spec *podSpec) error {
	level := p.Level(space)
	if level == psa.LevelPrivileged {
		return nil
	}
	e, err := evaluator()
	if err != nil {
		return err
	}
	result := checks.AggregateCheckResults(
		e.EvaluatePod(psa.LevelVersion{Level: level, Version: psa.LatestVersion()}, meta, spec),
	)
	if result.Allowed {
		return nil
	}
	return refuse(
		ReasonPodSecurity,
		"podSecurity",
		"["+space+"=privileged]",
		"the Pods do not keep to the site's Pod Security level %q: %s",
		level,
		result.ForbiddenDetail(),
	)
}
