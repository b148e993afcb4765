package store_test

import (
	"context"
	"fmt"

	"skerry.dev/skerry/store"
)

// A sender applies changes, a reader lists what is new to it, and a removed key is a tombstone.
func ExampleFeed() {
	bodies := map[store.Key]string{}
	render := func(_ context.Context, k store.Key) ([]byte, int64, error) {
		return []byte(bodies[k]), 1, nil
	}
	feed := store.NewFeed(store.NewIncarnation(), 0, render)
	key := store.Key{Space: "shop", Resource: "configmaps", Namespace: "default", Name: "web"}

	bodies[key] = `{"data":{"color":"blue"}}`
	feed.Apply(7, store.Change{Key: key, Hash: store.HashBody(1, []byte(bodies[key])),
		Generation: 1})
	entries, cursor, _ := feed.Read(0, 0)
	for _, e := range entries {
		body, _, _ := feed.Body(context.Background(), e.Key)
		fmt.Printf("%s at %d: %s\n", e.Key, e.Revision, body)
	}

	feed.Apply(8, store.Change{Key: key, Removal: store.RemoveDelete}) // no hash: it is removed
	entries, _, position := feed.Read(cursor, 0)
	for _, e := range entries {
		fmt.Printf("%s at %d: tombstone %t, %s\n", e.Key, e.Revision, e.Tombstone, e.Removal)
	}
	fmt.Println("live:", feed.Len(), "revision:", position.Revision)
	// Output:
	// shop/core/configmaps/default/web at 7: {"data":{"color":"blue"}}
	// shop/core/configmaps/default/web at 8: tombstone true, Delete
	// live: 0 revision: 8
}
