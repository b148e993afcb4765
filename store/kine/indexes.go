package kine

import (
	"context"
	"database/sql"
	"fmt"
)

// leanIndexes stand in place of indexes that kine makes and that its statements do well without: each write of an object would add to all of them.
// They have kine's names, so that it does not make its own again.
var leanIndexes = map[string]string{
	// Whoever asks by name is served by kine_name_id_index.
	"kine_name_index": `CREATE INDEX kine_name_index ON kine (name) WHERE id < 0`,
	// Nobody asks by this alone.
	"kine_prev_revision_index": `CREATE INDEX kine_prev_revision_index ON kine (prev_revision) WHERE id < 0`,
	// Compaction asks for what is deleted.
	"kine_id_deleted_index": `CREATE INDEX kine_id_deleted_index ON kine (id, deleted) WHERE deleted != 0`,
}

// leanOut replaces kine's indexes, each in one transaction. On data that has them already it only looks.
func leanOut(ctx context.Context, db *sql.DB) error {
	for name, made := range leanIndexes {
		var is string
		if err := db.QueryRowContext(ctx, `SELECT sql FROM sqlite_master WHERE type = 'index' AND name = ?`, name).Scan(&is); err != nil {
			return fmt.Errorf("look at the index %s: %w", name, err)
		}
		if is == made {
			continue
		}
		if err := inTransaction(ctx, db, `DROP INDEX `+name, made); err != nil {
			return fmt.Errorf("replace the index %s: %w", name, err)
		}
	}
	return nil
}

func inTransaction(ctx context.Context, db *sql.DB, statements ...string) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	for _, s := range statements {
		if _, err := tx.ExecContext(ctx, s); err != nil {
			return err
		}
	}
	return tx.Commit()
}
