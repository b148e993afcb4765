package store

import (
	"testing"
	"unsafe"
)

// A sender with many feeds has a value in memory once, and what a feed adds to it is small.
func TestFeedsShareAValue(t *testing.T) {
	v := &Value{Key: Key{Resource: "pods", Name: "a"}, Hash: Hash{1}, Generation: 3}
	for range 2 {
		f := NewFeed(Incarnation{}, 0, nil)
		f.Apply(1, v.Change())
		if it := f.items.Get(v.Key); it == nil || it.value != v {
			t.Errorf("the feed has %+v, not the value that it was given", it)
		}
	}
	if size := unsafe.Sizeof(item{}); size > 32 {
		t.Errorf("a change takes %d bytes in each feed", size)
	}
}
