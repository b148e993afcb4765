package server

import (
	"k8s.io/client-go/rest"

	"skerry.dev/skerry/server/namespacedefaults"
)

// NamespaceDefaultsAPI is the API that package namespacedefaults gets, for tests that run it alone.
func NamespaceDefaultsAPI(config func(space string) *rest.Config) namespacedefaults.API {
	return newSpaceClient(config)
}
