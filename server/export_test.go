package server

import (
	"k8s.io/client-go/rest"

	"skerry.dev/skerry/server/gc"
)

// NewWriter is the API that the center's controllers have, for tests that run one of them.
func NewWriter(config func(space string) *rest.Config) gc.API { return newSpaceClient(config) }
