package server

import (
	"github.com/urfave/cli/v2"
	//lint:ignore SA1019 remotecommand takes the types of this package, not yet those of k8s.io/streaming
	"k8s.io/apimachinery/pkg/util/httpstream/spdy"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"

	"skerry.dev/skerry/server/delivery"
	"skerry.dev/skerry/server/podexec"
	"skerry.dev/skerry/server/volumes/copier"
)

// MoverImageFlag names the image that volumes are copied with.
const MoverImageFlag = "mover-image"

// NewMoverImageFlag is that flag.
func NewMoverImageFlag() cli.Flag {
	return &cli.StringFlag{
		Name:    MoverImageFlag,
		EnvVars: []string{"SKERRY_MOVER_IMAGE"},
		Usage: "image of skerry, as the registries of sites have it, of the Pods that copy volumes when an app moves; " +
			"without it volumes stay where they are",
	}
}

// copier makes what copies volumes, nil where there is no image for it.
func (s *Server) copier(writer *spaceClient) delivery.Volumes {
	if s.cfg.MoverImage == "" {
		return nil
	}
	s.volumes = copier.New(copier.Config{
		API: writer, Image: s.cfg.MoverImage, Log: s.cfg.Log.With("part", "volumes"),
		Client: func(space string) (kubernetes.Interface, error) { return kubernetes.NewForConfig(s.asLeader(space)) },
		Exec:   func(space string) podexec.Executor { return inMemory(s.api.Loopback(space)) },
	})
	return s.volumes
}

// inMemory runs commands through the loopback. Its transport speaks HTTP/2, which cannot be upgraded, so that the
// connection is one of its own.
func inMemory(loopback *rest.Config) podexec.Executor {
	return func(r *rest.Request) (remotecommand.Executor, error) {
		over, err := spdy.NewRoundTripperWithConfig(spdy.RoundTripperConfig{UpgradeTransport: loopback.Transport})
		if err != nil {
			return nil, err
		}
		return remotecommand.NewSPDYExecutorForTransports(over, over, "POST", r.URL())
	}
}
