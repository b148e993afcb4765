// Package backends finds the Pods behind a Service of a space, as the sites have reported them.
//
//	finder := &backends.Finder{}                 // filled in when the storages exist
//	pods, err := finder.Behind(ctx, service)     // err is a *webhook.NoBackend
//
// Nothing but a Pod of the same space and namespace is ever found: not the address of a Service, and
// not what Endpoints that a user has written say.
package backends
