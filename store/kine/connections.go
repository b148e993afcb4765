package kine

import (
	"context"
	"database/sql"

	"github.com/k3s-io/kine/pkg/drivers/generic"
)

// What one replica takes of the connections that a shared database allows: a quarter, so that four
// find room, of which one may be the next version of another.
const (
	replicas         = 4
	leastConnections = 8
	mostConnections  = 64
)

// connections is how a replica divides the connections that it may have.
type connections struct {
	ours    int // for what is beside kine
	kines   int
	writers int // of kine's at most: as writes take turns, more would only keep readers from theirs
}

// share asks a database how many connections it allows: altogether, to this role, and to this
// database.
func share(ctx context.Context, db *sql.DB) (connections, error) {
	var allowed int
	err := db.QueryRowContext(ctx, `
		SELECT LEAST(current_setting('max_connections')::int
				- current_setting('superuser_reserved_connections')::int,
			NULLIF(rolconnlimit, -1), NULLIF(datconnlimit, -1))
		FROM pg_roles, pg_database
		WHERE rolname = current_user AND datname = current_database()`).Scan(&allowed)
	return divide(allowed), err
}

func divide(allowed int) connections {
	n := min(max(allowed/replicas, leastConnections), mostConnections)
	c := connections{ours: n / 4, kines: n - n/4}
	c.writers = c.kines / 2
	return c
}

// bound says how many connections a pool has at most, and how many of a burst stay at hand for a
// while.
func bound(db *sql.DB, most, idle int) {
	db.SetMaxOpenConns(most)
	db.SetMaxIdleConns(idle)
	db.SetConnMaxIdleTime(connectionIdleTime)
}

// poolConfig is bound for kine's connections.
func (c connections) poolConfig() generic.ConnectionPoolConfig {
	return generic.ConnectionPoolConfig{MaxOpen: c.kines, MaxIdle: c.kines,
		MaxIdleTime: connectionIdleTime}
}
