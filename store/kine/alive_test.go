package kine

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestAliveUnlessTheWriterIsStuck(t *testing.T) {
	g := &groupCommit{turn: make(chan struct{}, 1)}
	s := &Store{backend: &backend{committer: g}}
	if err := s.Alive(t.Context()); err != nil {
		t.Error(err)
	}
	g.turn <- struct{}{} // a commit that does not end
	short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := s.Alive(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("alive while a commit hangs: %v", err)
	}
}
