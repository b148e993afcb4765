package bolt_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/bolt"
)

// What a Commit has stored is there after the file was closed and opened again.
func ExampleFile_Sink() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "agent.db")
	key := store.Key{Space: "shop", Resource: "configmaps", Namespace: "default", Name: "web"}
	body := []byte(`{"data":{"color":"blue"}}`)

	put := func() error {
		f, err := bolt.Open(path, bolt.Options{})
		if err != nil {
			return err
		}
		defer f.Close()
		s, err := f.Sink("desired", bolt.SinkOptions{})
		if err != nil {
			return err
		}
		return s.Commit(context.Background(), store.Batch{
			Entries: []store.Entry{{Key: key, Revision: 7, Generation: 1,
				Hash: store.HashBody(1, body), Body: body}},
			Through: store.Position{Incarnation: store.NewIncarnation(), Revision: 7},
		})
	}
	read := func() error {
		f, err := bolt.Open(path, bolt.Options{})
		if err != nil {
			return err
		}
		defer f.Close()
		s, err := f.Sink("desired", bolt.SinkOptions{})
		if err != nil {
			return err
		}
		e, ok, err := s.Get(key)
		fmt.Printf("%t %s, up to revision %d\n", ok, e.Body, s.Position().Revision)
		return err
	}
	if err := put(); err != nil {
		log.Fatal(err)
	}
	if err := read(); err != nil {
		log.Fatal(err)
	}
	// Output:
	// true {"data":{"color":"blue"}}, up to revision 7
}
