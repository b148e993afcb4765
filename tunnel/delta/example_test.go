package delta_test

import (
	"context"
	"fmt"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/storetest"
	"skerry.dev/skerry/tunnel/delta"
	"skerry.dev/skerry/tunnel/pipe"
)

// A child opens a stream and receives into its copy; the parent accepts the stream and sends its
// feed, until one of them ends it.
func ExampleSend() {
	ctx, end := context.WithCancel(context.Background())
	defer end()
	child, parent := pipe.New(pipe.Options{})

	desired := []byte(`{"kind":"ConfigMap","data":{"color":"blue"}}`)
	feed := store.NewFeed(store.NewIncarnation(), 0,
		func(context.Context, store.Key) ([]byte, int64, error) { return desired, 1, nil })
	key := store.Key{Space: "shop", Resource: "configmaps", Namespace: "default", Name: "web"}
	feed.Apply(7, store.Change{Key: key, Hash: store.HashBody(1, desired), Generation: 1})

	stored := make(chan store.Position, 1)
	sent := make(chan error, 1)
	go func() {
		stream, err := parent.AcceptStream(ctx)
		if err != nil {
			sent <- err
			return
		}
		sent <- delta.Send(ctx, stream, feed, delta.SendOptions{
			OnAck: func(p store.Position) { stored <- p }})
	}()

	sink := storetest.NewMemory() // an agent's is a store/bolt.Sink
	stream, err := child.OpenStream(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	received := make(chan error, 1)
	go func() { received <- delta.Receive(ctx, stream, sink, delta.ReceiveOptions{}) }()

	position := <-stored // durable at the child
	entry, _, _ := sink.Get(key)
	fmt.Printf("%s: %s\n", entry.Key, entry.Body)
	fmt.Println("stored up to revision", position.Revision)

	end()
	<-sent
	<-received
	// Output:
	// shop/core/configmaps/default/web: {"kind":"ConfigMap","data":{"color":"blue"}}
	// stored up to revision 7
}
