package policy

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/json"
)

const webhooksGroup = "admissionregistration.k8s.io"

// IsWebhooks reports whether a kind is one of configurations of webhooks.
func IsWebhooks(group, resource string) bool {
	return group == webhooksGroup &&
		(resource == "mutatingwebhookconfigurations" || resource == "validatingwebhookconfigurations")
}

// labelNamespaceName is the label by which every Namespace can be selected by its name.
const labelNamespaceName = "kubernetes.io/metadata.name"

// Bounds of a configuration at a site. Each call of one delays the site's API server.
const (
	maxWebhooks   = 64
	maxConditions = 64 // an API server takes no more
	maxMirrorName = 253
)

// born are the kinds of which a site makes objects itself, by API group. Everything else is made in
// the space, and its webhooks are asked there.
var born = map[string][]string{
	"": {"pods", "persistentvolumeclaims"}, "apps": {"replicasets"}, "batch": {"jobs"},
}

// WebhookFacts is what the policy has to know of a space at the site to mirror its webhooks.
type WebhookFacts interface {
	// Namespaces are those that were made at the site for the space: their names there, and their
	// labels in the space, by their names in the space.
	Namespaces() (there map[string]string, labels map[string]map[string]string)
	// Service is the body of a Service of the space that the site has, false where it has none.
	Service(namespace, name string) ([]byte, bool)
	// Writer is the user as whom the space's objects are written at the site; empty if there is none
	// for the space alone.
	Writer() string
	// Site is the label on all that comes from the center.
	Site() string
}

// Webhooks refuses the webhooks of a space where the site has not opened that.
func (p *Policy) Webhooks(space string) error {
	if named(space, p.site.Webhooks, p.parent.Webhooks) {
		return nil
	}
	return refuse(ReasonWebhooks, "webhooks", "["+space+"]",
		"the site's API server would call webhooks of the space")
}

// configuration is what is read of a configuration of webhooks. What is not named here does not
// reach the site.
type configuration struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`
	Webhooks []webhook `json:"webhooks"`
}

type webhook struct {
	Name         string `json:"name"`
	ClientConfig struct {
		URL      *string         `json:"url,omitempty"`
		Service  *webhookService `json:"service,omitempty"`
		CABundle []byte          `json:"caBundle,omitempty"`
	} `json:"clientConfig"`
	Rules                   []webhookRule         `json:"rules"`
	NamespaceSelector       *metav1.LabelSelector `json:"namespaceSelector,omitempty"`
	ObjectSelector          *metav1.LabelSelector `json:"objectSelector,omitempty"`
	FailurePolicy           string                `json:"failurePolicy,omitempty"`
	MatchPolicy             string                `json:"matchPolicy,omitempty"`
	SideEffects             string                `json:"sideEffects,omitempty"`
	TimeoutSeconds          *int32                `json:"timeoutSeconds,omitempty"`
	ReinvocationPolicy      string                `json:"reinvocationPolicy,omitempty"`
	AdmissionReviewVersions []string              `json:"admissionReviewVersions"`
	MatchConditions         []matchCondition      `json:"matchConditions,omitempty"`
}

type webhookService struct {
	Namespace string  `json:"namespace"`
	Name      string  `json:"name"`
	Path      *string `json:"path,omitempty"`
	Port      *int32  `json:"port,omitempty"`
}

type webhookRule struct {
	APIGroups   []string `json:"apiGroups"`
	APIVersions []string `json:"apiVersions"`
	Resources   []string `json:"resources"`
	Operations  []string `json:"operations"`
	Scope       string   `json:"scope,omitempty"`
}

type matchCondition struct {
	Name       string `json:"name"`
	Expression string `json:"expression"`
}

// Mirror makes the configuration that the site has of one of a space: its webhooks for what is born
// at the site, in namespaces that were made for the space, by Services of the space there. It is
// named name. left says, webhook by webhook, why one for such objects is not among them.
func Mirror(name string, body []byte, facts WebhookFacts) (out []byte, left []string, err error) {
	var c configuration
	if err := json.Unmarshal(body, &c); err != nil {
		return nil, nil, refuse(ReasonWebhooks, "", "", "the webhooks cannot be read: %s", err)
	}
	if len(name) > maxMirrorName {
		return nil, nil, refuse(ReasonWebhooks, "", "",
			"its name at the site, %s, has more than %d characters; choose a shorter one", name, maxMirrorName)
	}
	var kept []webhook
	for i := range c.Webhooks {
		w := &c.Webhooks[i]
		if w.Rules = bornRules(w.Rules); len(w.Rules) == 0 {
			continue // the space asks it about all that it is for
		}
		why, applies := w.mirror(facts)
		switch {
		case why == "" && applies && len(kept) == maxWebhooks:
			why = fmt.Sprintf("a site has %d webhooks of a configuration at most", maxWebhooks)
		case why == "" && applies:
			kept = append(kept, *w)
		}
		if why != "" {
			left = append(left, w.Name+": "+why)
		}
	}
	marks := map[string]string{}
	for key, value := range c.Metadata.Annotations {
		if strings.HasPrefix(key, "skerry.dev/") { // others are for tools in the space
			marks[key] = value
		}
	}
	o := map[string]any{"apiVersion": c.APIVersion, "kind": c.Kind,
		"metadata": map[string]any{"name": name, "annotations": marks}}
	if len(kept) > 0 { // an empty list would be a field of its own in a server-side apply
		o["webhooks"] = kept
	}
	out, err = json.Marshal(o)
	return out, left, err
}

// bornRules narrows rules to what is born at sites: to kinds by name, in namespaces.
func bornRules(rules []webhookRule) (out []webhookRule) {
	for _, r := range rules {
		var operations []string
		for _, op := range []string{"CREATE", "UPDATE", "DELETE"} {
			if slices.Contains(r.Operations, op) || slices.Contains(r.Operations, "*") {
				operations = append(operations, op)
			}
		}
		if r.Scope == "Cluster" || len(operations) == 0 {
			continue
		}
		for _, group := range sortedKeys(born) {
			if !slices.Contains(r.APIGroups, group) && !slices.Contains(r.APIGroups, "*") {
				continue
			}
			var resources []string
			for _, resource := range born[group] {
				if slices.ContainsFunc(r.Resources, func(s string) bool { return s == resource || s == "*" || s == "*/*" }) {
					resources = append(resources, resource)
				}
			}
			if len(resources) > 0 {
				out = append(out, webhookRule{APIGroups: []string{group}, APIVersions: r.APIVersions,
					Resources: resources, Operations: operations, Scope: "Namespaced"})
			}
		}
	}
	return out
}

// mirror narrows a webhook to the space at the site. It reports false where none of the space's
// namespaces there is selected, and says why it cannot be called there.
func (w *webhook) mirror(facts WebhookFacts) (why string, applies bool) {
	service := w.ClientConfig.Service
	if w.ClientConfig.URL != nil || service == nil {
		return "a site calls Services only, not a url", false
	}
	there, labelled := facts.Namespaces()
	selected, err := metav1.LabelSelectorAsSelector(w.NamespaceSelector)
	switch {
	case err != nil:
		return "its namespaceSelector: " + err.Error(), false
	case w.NamespaceSelector == nil:
		selected = labels.Everything()
	}
	var names []string
	for namespace, name := range there {
		set := labels.Set{}
		for key, value := range labelled[namespace] {
			set[key] = value
		}
		set[labelNamespaceName] = namespace
		if !strings.HasPrefix(name, "kube-") && selected.Matches(set) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return "", false
	}
	slices.Sort(names)
	if why := callable(service, there, facts); why != "" {
		return why, false
	}
	if why := misnamed(w.ClientConfig.CABundle, service, there[service.Namespace]); why != "" {
		return why, false
	}
	service.Namespace = there[service.Namespace]
	w.NamespaceSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
		{Key: labelNamespaceName, Operator: metav1.LabelSelectorOpIn, Values: names},
		{Key: facts.Site(), Operator: metav1.LabelSelectorOpExists}, // not one that took over the name
	}}
	if w.ObjectSelector == nil {
		w.ObjectSelector = &metav1.LabelSelector{}
	}
	w.ObjectSelector.MatchExpressions = append(w.ObjectSelector.MatchExpressions, // asked in the space
		metav1.LabelSelectorRequirement{Key: facts.Site(), Operator: metav1.LabelSelectorOpDoesNotExist})
	if writer := facts.Writer(); writer != "" {
		if len(w.MatchConditions) >= maxConditions {
			return fmt.Sprintf("a site adds a matchCondition, and %d are the most", maxConditions), false
		}
		w.MatchConditions = append([]matchCondition{{"skerry.dev-born-here",
			fmt.Sprintf("request.userInfo.username != %q", writer)}}, w.MatchConditions...)
	}
	return "", true
}

// callable says why the site's API server cannot call a Service for a space: it has to lead to Pods
// of the space at the site.
func callable(s *webhookService, there map[string]string, facts WebhookFacts) string {
	at := s.Namespace + "/" + s.Name
	if there[s.Namespace] == "" {
		return fmt.Sprintf("Service %s is in no namespace that was made at this site for the space", at)
	}
	body, ok := facts.Service(s.Namespace, s.Name)
	if !ok {
		return fmt.Sprintf("Service %s is not placed at this site, and it is called at the same site only", at)
	}
	var o struct {
		Spec struct {
			Type     string            `json:"type"`
			Selector map[string]string `json:"selector"`
		} `json:"spec"`
	}
	switch err := json.Unmarshal(body, &o); {
	case err != nil:
		return fmt.Sprintf("Service %s cannot be read: %s", at, err)
	case o.Spec.Type == "ExternalName", len(o.Spec.Selector) == 0:
		return fmt.Sprintf("Service %s selects no Pods: it may lead anywhere", at)
	}
	return ""
}
