// Package target is how an agent reaches the API that it writes to: a workload cluster, or in a relay the spaces of its own
// center. It gives requests and answers as JSON over HTTP (server-side apply, get, delete with preconditions, paged list,
// watch) and knows nothing of desired state or reports. It exists to confine client-go: no client-go type but rest.Config leaves
// it, there is no informer, no scheme and no client-side rate limit, because the agent must stay small and quick.
// It is imported by apply and observe, which share its nouns, and by agent.go.
package target
