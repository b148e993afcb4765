package clusterset

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/store"
)

// reconcile brings what there is of one name, or the definitions of one space, to what it should be.
func (c *Controller) reconcile(ctx context.Context, i item) error {
	if i.space != "" {
		return c.define(ctx, i.space)
	}
	c.mu.Lock()
	members, exports := maps.Clone(c.spaces), maps.Clone(c.exports[i.name])
	holders, over := slices.Collect(maps.Keys(c.holders[i.name])), map[string]bool{}
	for space, e := range exports {
		over[space] = c.ages[space].over(aged{e.since, i.name})
	}
	c.mu.Unlock()
	offers := map[string][]offer{} // by set
	imports, verdicts := map[string]*imported{}, map[string]verdict{}
	for space, e := range exports {
		m, known := members[space]
		if m.set == "" {
			left, err := c.hasLeft(ctx, space)
			if err != nil {
				return err
			}
			if known && left {
				verdicts[space] = verdict{invalid: reasonNoSet, why: "the space is in no set of spaces any more; the center's " +
					"admin puts it into one by spec.clusterSet of the Space"}
			}
			continue
		}
		o, err := c.offer(ctx, space, m, i.name, e)
		if err != nil {
			return err
		}
		o.over = over[space]
		offers[m.set] = append(offers[m.set], o)
	}
	for set, all := range offers {
		is, said := judge(all)
		if maps.Copy(verdicts, said); is != nil {
			imports[set] = is
			for _, space := range slices.Sorted(maps.Keys(members)) {
				if members[space].set == set {
					is.members = append(is.members, space)
				}
			}
		}
	}
	c.leadTo(i.name, imports)
	var failed []error
	reached := map[string][]string{} // the spaces that have the import of a set
	for space := range members {
		is := imports[members[space].set]
		if is == nil && !slices.Contains(holders, space) {
			continue
		}
		has, err := c.keepImport(ctx, space, members[space].set, i.name, is)
		if has {
			reached[members[space].set] = append(reached[members[space].set], space)
		}
		failed = append(failed, err)
	}
	for space, v := range verdicts {
		failed = append(failed, c.say(ctx, space, i.name, v, reached[members[space].set]))
	}
	return errors.Join(failed...)
}

// hasLeft reports whether a space that is in no set was in one. The exports of any other one are sites' to judge.
func (c *Controller) hasLeft(ctx context.Context, space string) (bool, error) {
	o, err := c.live(ctx, definition(space, v1alpha1.ServiceExports), definitionVersion)
	return staysInSpace(o), err
}

// offer reads what a space exports under a name.
func (c *Controller) offer(ctx context.Context, space string, m member, n name, e *export) (offer, error) {
	o := offer{space: space, since: e.since, reach: m.reach}
	service, err := c.live(ctx, serviceOf(space, n), "v1")
	if err != nil {
		return o, err
	}
	if fields.String(service, "metadata", "deletionTimestamp") == "" {
		o.service = service
	}
	export, err := c.live(ctx, exportOf(space, n), apiVersion)
	if err != nil {
		return o, err
	}
	o.words, o.unsaid = exportedBy(fields.Map(export, "spec"))
	namespace, err := c.live(ctx, store.Key{Space: space, Resource: "namespaces", Name: n.namespace}, "v1")
	if word := fields.String(namespace, "metadata", "annotations", v1alpha1.AnnotationReach); word != "" {
		o.reach = word
	}
	return o, err
}

// serviceOf is what an export of a space exports.
func serviceOf(space string, n name) store.Key {
	return store.Key{Space: space, Resource: "services", Namespace: n.namespace, Name: n.service}
}

// exportOf is the ServiceExport of a name in a space.
func exportOf(space string, n name) store.Key {
	return store.Key{Space: space, Group: v1alpha1.FleetGroup, Resource: v1alpha1.ServiceExports, Namespace: n.namespace,
		Name: n.service}
}

// live reads an object, nil where there is none.
func (c *Controller) live(ctx context.Context, k store.Key, apiVersion string) (map[string]any, error) {
	o, err := c.cfg.API.Live(ctx, k, apiVersion)
	if apierrors.IsNotFound(err) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("read %s: %w", k, err)
	}
	return o, nil
}

// leadTo has the imports of a name lead to its offers.
func (c *Controller) leadTo(n name, imports map[string]*imported) {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.leads, func(l lead, _ []Offer) bool { return l.name == n })
	for set, is := range imports {
		var all []Offer
		for _, o := range is.by {
			all = append(all, Offer{serviceOf(o.space, n), fields.Clone(o.service, "metadata", "uid")})
		}
		c.leads[lead{set, n}] = all
	}
	at := name{n.namespace, v1alpha1.ServiceOfImport(n.service)}
	if c.served[at] = n; len(imports) == 0 && len(c.holders[n]) == 0 {
		delete(c.served, at)
	}
}
