package target

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Webhook is an admission webhook of a cluster that is asked by a Service, and without whose answer
// the cluster refuses.
type Webhook struct {
	// Configuration is KIND/NAME of the object that has it, Name its own.
	Configuration, Name string
	// Namespace and Service are where the cluster asks.
	Namespace, Service string
	// Rules are what it is asked about.
	Rules []WebhookRule
}

// WebhookRule is a rule of a Webhook. "*" is all.
type WebhookRule struct {
	APIGroups, Resources, Operations []string
}

// Covers reports whether a webhook is asked when an object of a kind is made or changed.
func (w *Webhook) Covers(group, resource string) bool {
	has := func(all []string, one ...string) bool {
		return slices.ContainsFunc(all, func(s string) bool { return s == "*" || slices.Contains(one, s) })
	}
	return slices.ContainsFunc(w.Rules, func(r WebhookRule) bool {
		return has(r.APIGroups, group) && has(r.Resources, resource, "*/*") && has(r.Operations, "CREATE", "UPDATE")
	})
}

type webhookConfiguration struct {
	Metadata Metadata
	Webhooks []struct {
		Name          string
		FailurePolicy string
		ClientConfig  struct {
			Service *struct{ Namespace, Name string }
		}
		Rules []WebhookRule
	}
}

// Webhooks visits the webhooks of the cluster that it cannot do without.
func (c *Client) Webhooks(ctx context.Context, visit func(*Webhook)) error {
	for _, kind := range []string{"ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"} {
		r := Resource{Group: "admissionregistration.k8s.io", Version: "v1", Plural: webhookPlurals[kind]}
		err := pages(ctx, c, r, func(o *webhookConfiguration) {
			for _, w := range o.Webhooks {
				if w.FailurePolicy == "Ignore" || w.ClientConfig.Service == nil {
					continue
				}
				visit(&Webhook{kind + "/" + o.Metadata.Name, w.Name, w.ClientConfig.Service.Namespace,
					w.ClientConfig.Service.Name, w.Rules})
			}
		})
		if err != nil {
			return fmt.Errorf("list %s: %w", r.Plural, err)
		}
	}
	return nil
}

var webhookPlurals = map[string]string{"ValidatingWebhookConfiguration": "validatingwebhookconfigurations",
	"MutatingWebhookConfiguration": "mutatingwebhookconfigurations"}

// Answers says why nothing answers at a Service, "" if something does. A Service without a selector and
// without slices, or of an external name, is answered by what the cluster does not know.
func (c *Client) Answers(ctx context.Context, namespace, name string) (why string, err error) {
	var service struct {
		Spec struct {
			Type     string
			Selector map[string]string
		}
	}
	_, err = c.call(ctx, http.MethodGet, services.Path(namespace, name), nil, "", nil, &service)
	switch {
	case apierrors.IsNotFound(err):
		return "there is no such Service", nil
	case err != nil:
		return "", err
	case service.Spec.Type == "ExternalName":
		return "", nil
	}
	var list struct {
		Items []struct {
			Endpoints []struct {
				Conditions struct{ Ready *bool }
			}
		}
	}
	query := url.Values{"labelSelector": {"kubernetes.io/service-name=" + name}}
	if _, err := c.call(ctx, http.MethodGet, endpointSlices.Path(namespace, ""), query, "", nil, &list); err != nil {
		return "", err
	}
	for _, slice := range list.Items {
		for _, e := range slice.Endpoints {
			if e.Conditions.Ready == nil || *e.Conditions.Ready {
				return "", nil
			}
		}
	}
	if len(service.Spec.Selector) == 0 && len(list.Items) == 0 {
		return "", nil
	}
	return "it has no ready endpoint", nil
}
