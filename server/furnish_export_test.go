package server

import (
	"k8s.io/client-go/rest"

	"skerry.dev/skerry/server/furnish"
)

// FurnishAPI is the API that package furnish gets, for tests that run it alone.
func FurnishAPI(config func(space string) *rest.Config) furnish.API { return newWriter(config) }
