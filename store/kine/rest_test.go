package kine

import (
	"database/sql"
	"testing"
)

// Connections that only a burst needed are closed at rest, and what needs them later opens others.
func TestRestClosesConnections(t *testing.T) {
	const burst = 8
	s := open(t, t.TempDir())
	db := s.file.table.DB
	use := func() {
		t.Helper()
		var used []*sql.Conn
		for range burst {
			c, err := db.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			used = append(used, c)
		}
		for _, c := range used {
			c.Close()
		}
	}
	use()
	if n := db.Stats().OpenConnections; n < burst {
		t.Fatalf("%d connections after %d were used at a time", n, burst)
	}
	s.ReleaseMemory()
	if n := db.Stats().OpenConnections; n > burst/2 { // the store itself may use some
		t.Errorf("%d connections at rest", n)
	}
	use()
}
