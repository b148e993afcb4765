package streams

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/tunnel/exchange"
)

// A Pod that is called from another site is connected to from the agent's address, or through the API server, where the
// network lets the agent in or does not ask its policies at all. So they are asked here, about the Pod that calls.

var networkPolicies = target.Resource{Group: "networking.k8s.io", Version: "v1", Plural: "networkpolicies"}

// policiesOf reads the NetworkPolicies of a namespace, also those of the site's owner. One that cannot be read is an
// error: it may be there to keep callers out.
func policiesOf(ctx context.Context, c *target.Client, namespace string) (policies, error) {
	all := policies{namespace: namespace}
	var unread error
	_, err := c.List(ctx, target.Listing{Resource: networkPolicies, Namespace: namespace}, func(o *target.Object) error {
		if err := all.add(o.Metadata.Name, o.Spec); err != nil {
			unread = err
		}
		return nil
	})
	if err == nil {
		err = unread
	}
	return all, err
}

// admit returns a *exchange.Fault when the policies of a Pod let its caller not in.
func (s *Site) admit(r *exchange.Request, all policies, live *target.Object, port int) error {
	if len(all.all) == 0 {
		return nil // the usual case reads neither the caller nor the Pod
	}
	from, err := s.caller(r)
	if err != nil {
		return err
	}
	by := all.refuse(callee{live.Metadata.Labels, port, namesOf(live, port)}, from)
	if len(by) == 0 {
		return nil
	}
	who := "a caller of whom its own site says nothing"
	switch {
	case from != nil && from.namespace == "":
		who = "a caller from outside, " + from.address.String() + ","
	case from != nil && from.elsewhere:
		who = "a pod of namespace " + from.namespace + " of its own site"
	case from != nil:
		who = "a pod of namespace " + from.namespace
	}
	return &exchange.Fault{Code: http.StatusForbidden, Reason: exchange.Denied,
		Message: fmt.Sprintf("NetworkPolicy %s does not let %s in at port %d of pod %s/%s", strings.Join(by, ", "), who, port,
			r.Namespace, r.Pod)}
}

// caller is who calls, as this cluster names its namespace. It is nil where nothing is known of it.
func (s *Site) caller(r *exchange.Request) (*peer, error) {
	if r.Caller == "" {
		return nil, nil
	}
	is, err := exchange.ReadCaller(r.Caller)
	if err != nil {
		return nil, err
	}
	if is.Namespace == "" {
		return &peer{address: is.Address}, nil
	}
	there := is.Namespace
	if !is.OfSite {
		there = s.There(r.Space, is.Namespace)
	}
	if is.NamespaceLabels == nil {
		is.NamespaceLabels = map[string]string{}
	}
	is.NamespaceLabels[target.LabelNamespaceName] = there
	return &peer{there, is.OfSite, is.NamespaceLabels, is.Labels, is.Address}, nil
}

// namesOf are the names that a TCP port has in the containers of a Pod, which are also those of its sidecars.
func namesOf(live *target.Object, port int) (names []string) {
	type container struct {
		RestartPolicy string
		Ports         []struct {
			Name, Protocol string
			ContainerPort  int
		}
	}
	var spec struct{ Containers, InitContainers []container }
	if json.Unmarshal(live.Spec, &spec) != nil {
		return nil
	}
	for _, c := range spec.InitContainers {
		if c.RestartPolicy == "Always" {
			spec.Containers = append(spec.Containers, c)
		}
	}
	for _, c := range spec.Containers {
		for _, p := range c.Ports {
			if p.ContainerPort == port && p.Name != "" && (p.Protocol == "" || p.Protocol == "TCP") {
				names = append(names, p.Name)
			}
		}
	}
	return names
}
