package target

import (
	"context"
	"errors"
	"time"
)

// Identity is which cluster a target is, and how far its history has got.
type Identity struct {
	// Cluster is the UID of the Namespace kube-system, which a cluster keeps for life.
	Cluster string
	// Revision is the newest resourceVersion of the target, 0 when that is no number.
	Revision uint64
}

// errNoSystem is returned when the target has no Namespace kube-system.
var errNoSystem = errors.New("the target has no Namespace kube-system")

// Identify asks the target which cluster it is, in one small request. Reach counts the answer.
func (c *Client) Identify(ctx context.Context) (Identity, error) {
	began := time.Now()
	id, err := c.identify(ctx)
	c.reach.identified(began, err)
	return id, err
}

func (c *Client) identify(ctx context.Context) (Identity, error) {
	l := Listing{
		Resource:      Resource{Version: "v1", Plural: "namespaces"},
		FieldSelector: "metadata.name=kube-system",
		MetadataOnly:  true,
	}
	page, err := c.page(ctx, l, "", 1)
	if err != nil {
		return Identity{}, err
	}
	if len(page.Items) == 0 {
		return Identity{}, errNoSystem
	}
	at := Object{Metadata: Metadata{ResourceVersion: page.Metadata.ResourceVersion}}
	return Identity{Cluster: page.Items[0].Metadata.UID, Revision: at.Revision()}, nil
}
