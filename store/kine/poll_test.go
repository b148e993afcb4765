package kine

import (
	"log/slog"
	"slices"
	"testing"

	"github.com/k3s-io/kine/pkg/server"
)

// What replicas have written is handed over once. Where some of it was compacted before it was read
// all watches end, and reading goes on behind the gap.
func TestPollerPublishes(t *testing.T) {
	p := &poller{feed: newFeed(0), log: slog.New(slog.DiscardHandler)}
	w := p.feed.watch("", "", false)
	found := read{events: []*server.Event{eventAt("/a", 5), eventAt("/b", 7)}, current: 9, compact: 4}
	if next := p.publish(found, 4); next != 7 {
		t.Errorf("the next read begins after %d, want 7", next)
	}
	if n, ok := w.next(t.Context()); !ok || !slices.Equal(revisionsOf(n.events), []int64{5, 7}) {
		t.Errorf("the watch has %v, %v", revisionsOf(n.events), ok)
	}
	if next := p.publish(read{}, 7); next != 7 || p.feed.position() != 7 {
		t.Errorf("after nothing was written: next %d, position %d", next, p.feed.position())
	}
	found = read{events: []*server.Event{eventAt("/a", 12)}, current: 15, compact: 10}
	if next := p.publish(found, 7); next != 15 || p.feed.position() != 15 {
		t.Errorf("after a gap: next %d, position %d, want 15", next, p.feed.position())
	}
	if n, ok := w.next(t.Context()); ok {
		t.Errorf("a watch goes on over a gap with %v", revisionsOf(n.events))
	}
}
