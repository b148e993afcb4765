// Package policy decides what spaces may do on the cluster of a site. It is pure: rules and facts
// in, a verdict out.
//
// A [Policy] is compiled from two inputs. [tunnel.Allow] is what the site's admin has opened: the
// key allow of agent.yaml. [tunnel.Narrow] is what the parent takes away: SyncTarget.spec.allow.
// The site has the last word: a parent can never give more. A verdict is nil or a [Refusal], whose
// message names the switch.
//
//	p, err := policy.Compile(site, narrow)
//	err = p.Kind(group, resource, defined)  // nil, or a *Refusal
//	err = p.TakeOver(group, resource)
//
// The default, with nothing opened:
//
//  1. A namespace belongs to one space. It was created for that space, or it existed and nobody
//     else used it.
//  2. Workload kinds of Kubernetes are allowed ([Policy.Kind]), and custom resources of definitions
//     that came from a space.
//  3. Pods meet the Pod Security level baseline, name ServiceAccounts of their space, and mount no
//     token for the API.
//  4. Nothing that exists is taken over.
//  5. Services have no externalIPs, loadBalancerIP and load balancer class, claims and Pods name no
//     storage, and nobody writes endpoints.
//  6. Nothing gives rights to the cluster's API ([Policy.Rights]).
//  7. The cluster calls no webhook of a space ([Policy.Webhooks]). Where that is opened, [Mirror]
//     narrows it to what is born in the space's own namespaces.
//
// It reads no cluster: apply gathers the facts and enforces the verdict.
package policy
