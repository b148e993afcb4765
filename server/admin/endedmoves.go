package admin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"skerry.dev/skerry/server/admin/fleet"
	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/store"
)

const (
	// spacesAsked is of how many spaces the Events are looked through for moves.
	spacesAsked = 1000
	// movesShown is how many moves that ended are shown.
	movesShown = 20
	// askedAtOnce is how many spaces are asked at the same time.
	askedAtOnce = 16
)

// endedMoves are the moves that ended last, of one space or of all, as their Events say. Events of
// a space that cannot be read are left out.
func (c *center) endedMoves(ctx context.Context, space string) ([]fleet.Move, error) {
	names := []string{space}
	if space == "" {
		list, err := c.listAll(ctx, spaces, selection{})
		if err != nil {
			return nil, err
		}
		names = []string{v1alpha1.RootSpace}
		for i := range list.Items {
			names = append(names, list.Items[i].GetName())
		}
		names = names[:min(len(names), spacesAsked)]
	} else if err := c.mustExist(ctx, space); err != nil {
		return nil, err
	}
	var mu sync.Mutex
	var out []fleet.Move
	g, all := errgroup.WithContext(ctx)
	g.SetLimit(askedAtOnce)
	for _, name := range names {
		for _, reason := range []string{"Moved", "MoveGivenUp"} {
			g.Go(func() error {
				moves, err := c.movesIn(all, name, reason)
				var answer apierrors.APIStatus
				if err != nil && !errors.As(err, &answer) {
					return err
				}
				mu.Lock()
				defer mu.Unlock()
				out = append(out, moves...)
				return nil
			})
		}
	}
	if err := g.Wait(); err != nil {
		return nil, fmt.Errorf("read the Events of moves: %w", err)
	}
	slices.SortFunc(out, func(a, b fleet.Move) int { return b.Since.Compare(a.Since.Time) })
	return out[:min(len(out), movesShown)], nil
}

var events = schema.GroupVersionResource{Version: "v1", Resource: "events"}

// movesIn are the moves that Events of one reason tell of in a space.
func (c *center) movesIn(ctx context.Context, space, reason string) (out []fleet.Move, err error) {
	config := rest.CopyConfig(c.config)
	config.Host = c.spaceURL(space)
	api, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	list, err := api.Resource(events).List(ctx,
		metav1.ListOptions{FieldSelector: "reason=" + reason, Limit: page})
	if err != nil {
		return nil, err
	}
	for i := range list.Items {
		e := list.Items[i].Object
		text := func(path ...string) string {
			s, _, _ := unstructured.NestedString(e, path...)
			return s
		}
		at, err := time.Parse(time.RFC3339, orElse(text("lastTimestamp"), text("eventTime")))
		if err != nil {
			continue
		}
		kind := schema.FromAPIVersionAndKind(text("involvedObject", "apiVersion"),
			text("involvedObject", "kind"))
		resource, _ := apimeta.UnsafeGuessKindToResource(kind)
		about := store.Key{Space: space, Group: resource.Group, Resource: resource.Resource,
			Namespace: text("involvedObject", "namespace"), Name: text("involvedObject", "name")}
		out = append(out, fleet.EndedMove(about.String(), reason, text("message"),
			metav1.NewTime(at)))
	}
	return out, nil
}
