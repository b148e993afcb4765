// Package apiserver is the kube API of a center: one generic API server for all spaces. It wires
// the packages below it, one for each concern; README.md lists them.
//
//	api, err := apiserver.New(apiserver.Config{Store: db, Spaces: spaces, ServiceAccountKey: key, ...})
//	go api.Run(ctx)
//	<-api.Ready()
//	client, err := dynamic.NewForConfig(api.Loopback("team")) // as the center, in memory
//	err = api.Changes(ctx, handler)                           // every write of every space, in order
//
// The space travels in the context of a request and stands in every storage key, so an empty space
// costs next to nothing. A space that has CustomResourceDefinitions gets a small server for them;
// one server serves the kinds of skerry.dev to all spaces.
package apiserver
