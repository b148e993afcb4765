package inventory

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"skerry.dev/skerry/store/bolt"
)

func TestAliveWhileRunTurns(t *testing.T) {
	file, err := bolt.Open(t.TempDir()+"/agent.db", bolt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	i, err := Open(file.Inventory(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := i.Alive(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("alive before it runs: %v", err)
	}
	run, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- i.Run(run) }()
	if err := i.Alive(t.Context()); err != nil {
		t.Error(err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if err := file.Turn(); err != nil {
		t.Errorf("the file takes no write: %v", err)
	}
}
