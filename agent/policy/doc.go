// Package policy says what spaces may do on the cluster of a site. It is pure: rules and facts in, a verdict out.
//
// A [Policy] is compiled from what the site's admin has opened ([tunnel.Allow], the key allow of agent.yaml) and
// what the parent takes away of it ([tunnel.Narrow], SyncTarget.spec.allow). The site has the last word: a parent
// can never give more. Every verdict is nil or a [Refusal], whose message names the switch.
//
// The default, with nothing opened:
//
//  1. A namespace belongs to one space: it is made for it, or it was there and held nothing of anybody else.
//  2. Workload kinds of Kubernetes travel ([Policy.Kind]), and custom resources of definitions that came from a space.
//  3. Pods keep to the Pod Security level baseline, name ServiceAccounts of their space, and mount no token for the API.
//  4. Nothing that exists is taken over.
//  5. Services have no externalIPs and no load balancer class, claims name no volume, and nobody writes endpoints.
package policy
