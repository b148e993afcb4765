package server

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// Alive reports whether the center's loops turn: the datastore's writer is free or moves on, and
// the kube API answers. Whatever they answer is an answer, so a full disk, a database that is away
// and an overload are no death. It is for use after Ready.
func (s *Server) Alive(ctx context.Context) error {
	if err := s.store.Alive(ctx); err != nil {
		return err
	}
	client, err := rest.UnversionedRESTClientFor(dynamic.ConfigFor(s.api.Loopback(v1alpha1.RootSpace)))
	if err != nil {
		return fmt.Errorf("make a client of the kube API: %w", err)
	}
	var answer apierrors.APIStatus
	if err := client.Get().AbsPath("/livez").Do(ctx).Error(); err != nil && !errors.As(err, &answer) {
		return fmt.Errorf("the kube API does not answer: %w", err)
	}
	return nil
}
