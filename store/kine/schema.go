package kine

import (
	"errors"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
)

// indexSQL makes the indexes that the statements on the table kine need, in a file and in
// PostgreSQL. kine itself makes seven; each write of an object would add to all of them.
var indexSQL = []string{
	// Reads by name, and by range of names.
	`CREATE INDEX IF NOT EXISTS kine_name_id_index ON kine (name, id)`,
	// No row is replaced twice.
	`CREATE UNIQUE INDEX IF NOT EXISTS kine_name_prev_revision_uindex ON kine (name, prev_revision)`,
	// Compaction asks for what is deleted, and for what was replaced.
	`CREATE INDEX IF NOT EXISTS kine_deleted_index ON kine (id, deleted) WHERE deleted != 0`,
	`CREATE INDEX IF NOT EXISTS kine_replaced_index ON kine (id, name, prev_revision)
		WHERE name != '` + compactionKey + `' AND prev_revision != 0`,
}

// compactionKey is the name of the row whose prev_revision is the revision that the table is
// compacted to. kine's statements expect it.
const compactionKey = "compact_rev_key"

const compactionRowSQL = `
	INSERT INTO kine (name, created, deleted, create_revision, prev_revision, lease, value)
	SELECT '` + compactionKey + `', 1, 0, 0, 0, 0, ''
	WHERE NOT EXISTS (SELECT 1 FROM kine WHERE name = '` + compactionKey + `')`

// errorCode is an error as a label of kine's metrics: the database's code for it.
func errorCode(err error) string {
	var file *sqlite.Error
	var shared *pgconn.PgError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &file):
		return sqlite.ErrorCodeString[file.Code()]
	case errors.As(err, &shared):
		return shared.Code
	}
	return "other"
}
