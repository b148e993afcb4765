package recovery

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"skerry.dev/skerry/agent/inventory"
	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
)

// ErrPartial is returned when a part of the target could not be listed. What was found is right,
// but there may be more.
var ErrPartial = errors.New("not all of the target could be listed")

// Config configures a search. All fields are required.
type Config struct {
	Clients *target.Clients
	// Sites are the label values to look for: the UIDs that this site has and had at its parent.
	Sites []string
	// Found is called for each object that this agent has applied, one at a time. The record has no
	// hash.
	Found func(store.Key, inventory.Record) error
	Log   *slog.Logger
}

// Run searches once. It returns ErrPartial, or the error of Found.
func Run(ctx context.Context, cfg Config) error {
	if len(cfg.Sites) == 0 {
		return nil
	}
	spaces, err := cfg.Clients.Spaces(ctx)
	if err != nil {
		return fmt.Errorf("%w: list the target's spaces: %w", ErrPartial, err)
	}
	s := &recovery{Config: cfg, selector: target.LabelSite + " in (" + strings.Join(cfg.Sites, ",") + ")"}
	for _, space := range spaces {
		if err := s.view(ctx, space); err != nil {
			return err
		}
	}
	return s.partial
}

// atOnce is how many kinds are listed at the same time. A server that answers from its cache first
// waits until that is as new as what is stored. Lists that are made together wait together. Most of
// them are empty.
const atOnce = 16

type recovery struct {
	Config
	selector string

	mu      sync.Mutex // held to call Found, and for partial
	partial error
}

// missed records the first part that could not be listed.
func (s *recovery) missed(what string, err error) {
	s.Log.Debug("not swept", "what", what, "err", err)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.partial == nil {
		s.partial = fmt.Errorf("%w: %s: %w", ErrPartial, what, err)
	}
}

func (s *recovery) view(ctx context.Context, space string) error {
	client, err := s.Clients.For(space)
	if err != nil {
		s.missed("space "+space, err)
		return ctx.Err()
	}
	served, err := client.Served(ctx)
	if err != nil {
		s.missed("discovery", err)
	}
	lists, listing := errgroup.WithContext(ctx)
	lists.SetLimit(atOnce)
	for _, r := range served {
		lists.Go(func() error { return s.resource(listing, client, space, r) })
	}
	if err := lists.Wait(); err != nil {
		return err
	}
	return ctx.Err()
}

func (s *recovery) resource(ctx context.Context, c *target.Client, space string, r target.Served) error {
	var refused error // of Found, not of the target
	listing := target.Listing{Resource: r.Resource, LabelSelector: s.selector, MetadataOnly: true}
	_, err := c.List(ctx, listing, func(o *target.Object) error {
		mapping := s.Clients.Mapping(o)
		k, ok := s.keyOf(r.Resource, space, mapping, o)
		if !ok {
			return nil
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if ctx.Err() == nil { // what was refused to another list is not asked again
			refused = s.Found(k, record(r, mapping, o))
		}
		return errors.Join(refused, ctx.Err())
	})
	switch {
	case err == nil, refused != nil:
		return refused
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, target.ErrNotServed), apierrors.IsMethodNotSupported(err), apierrors.IsForbidden(err):
		return nil // what may not be listed was not applied either
	default:
		s.missed(r.Resource.String(), err)
		return nil
	}
}

// keyOf returns the key of an object that was applied from here. An object that somebody made from
// ours has our annotations and not our field manager; one that a controller made from ours has an owner.
// Its namespace has the space's name again.
func (s *recovery) keyOf(
	r target.Resource,
	space string,
	mapping target.Mapping,
	o *target.Object,
) (store.Key, bool) {
	from := o.OriginSpace()
	if from == "" || o.OriginUID() == "" || o.Owned() == nil || o.ControllerUID() != "" ||
		space != "" && space != from {
		return store.Key{}, false
	}
	k, ok := s.Clients.KeyHere(mapping, r.KeyIn(from, o))
	return k, ok && k.Validate() == nil
}

// record is what can be told of an object from its metadata. A Namespace that was there says so. It
// may have claims whose StatefulSet is gone.
func record(r target.Served, mapping target.Mapping, o *target.Object) inventory.Record {
	api := r.Version
	if r.Group != "" {
		api = r.Group + "/" + r.Version
	}
	return inventory.Record{
		UID:              o.Metadata.UID,
		TargetGeneration: o.Metadata.Generation,
		ResourceVersion:  o.Metadata.ResourceVersion,
		Created:          o.Metadata.Annotations[target.AnnotationExisted] == "",
		APIVersion:       api,
		Kind:             r.Kind,
		OriginUID:        o.OriginUID(),
		Prefix:           string(mapping),
		Claims:           r.Group == "" && r.Plural == "namespaces",
	}
}
