// Package request knows what a request carries in its context: the space that it is in, and whether
// the center itself made it. The front of the API server sets both; storage, admission and
// authorization read them.
//
// One request for /clusters/team/api/v1/pods:
//
//	space, path := request.Split(r.URL.Path)        // "team", "/api/v1/pods"
//	ctx := request.WithSpace(r.Context(), space)    // the front, once
//	...
//	key := "/pods/" + request.Space(ctx) + "/"      // the storage
//	if request.FromCenter(ctx) { ... }              // false: it came in from outside
//
// There is no default space: the storage answers a context without one with ErrNoSpace.
package request
