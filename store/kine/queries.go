package kine

import (
	"fmt"

	"github.com/k3s-io/kine/pkg/drivers/generic"
	"github.com/k3s-io/kine/pkg/query"
)

// readFmt reads columns of rows, on a condition and in an order. Each row has the newest and the
// compacted revision at that moment; if there is none, a row of NULLs has them. kine's statements
// answer the same, but make a temporary table of all that they find, with values, to sort it.
const readFmt = `
	SELECT newest.id,
		(SELECT MAX(prev_revision) FROM kine WHERE name = '` + compactionKey + `'),
		k.id, k.name, k.created, k.deleted, k.create_revision, k.prev_revision, k.lease%s
	FROM kine AS newest LEFT JOIN kine AS k ON %s
	WHERE newest.id = (SELECT MAX(id) FROM kine) ORDER BY k.%s`

// Columns of a read besides those of all.
const (
	withValue  = `, k.value`
	bothValues = `, k.value, k.old_value`
)

// Conditions of a read. Without the casts SQLite compiles a statement anew for each other name: it
// looks whether that is the one that kine_replaced_index leaves out.
const (
	named   = `k.name = CAST(? AS TEXT)`
	between = `k.name >= ? AND k.name < ?`
	later   = ` AND k.id > ?`
	orGone  = ` AND (k.deleted = 0 OR ?)`

	newestNamed   = `k.id = (SELECT MAX(id) FROM kine WHERE name = CAST(? AS TEXT))` + orGone
	newestNamedAt = `k.id = (SELECT MAX(id) FROM kine WHERE name = CAST(? AS TEXT) AND id <= ?)` +
		orGone
	newestBetween   = between + ` AND k.id = (SELECT MAX(id) FROM kine WHERE name = k.name)` + orGone
	newestBetweenAt = between + ` AND k.id = (SELECT MAX(id) FROM kine WHERE name = k.name AND id <= ?)` +
		orGone
)

// compactSQL deletes rows that were replaced or that delete their key, after a revision up to
// another. Up to the first it was done before.
const compactSQL = `
	DELETE FROM kine WHERE id IN (
		SELECT kp.prev_revision FROM kine AS kp
		WHERE kp.name != '` + compactionKey + `' AND kp.prev_revision != 0 AND kp.id > ? AND kp.id <= ?
		UNION ALL
		SELECT kd.id FROM kine AS kd WHERE kd.deleted != 0 AND kd.id > ? AND kd.id <= ?)`

// complete puts our statements in place of kine's, and adds those that it leaves to a driver.
func complete(d *generic.Generic, parameter string, numbered bool, size string) *generic.Generic {
	set := func(text, name string) *query.Named {
		return query.New(text, parameter, numbered, name)
	}
	read := func(name, columns, condition, order string) *query.Named {
		return set(fmt.Sprintf(readFmt, columns, condition, order), name)
	}
	d.GetSingleSQL = read("GetSingle", "", newestNamed, "name")
	d.GetSingleValSQL = read("GetSingleVal", withValue, newestNamed, "name")
	d.ListRevisionStartSQL = read("ListRevisionStart", "", newestNamedAt, "name")
	d.ListRevisionStartValSQL = read("ListRevisionStartVal", withValue, newestNamedAt, "name")
	d.ListCurrentSQL = read("ListCurrent", "", newestBetween, "name")
	d.ListCurrentValSQL = read("ListCurrentVal", withValue, newestBetween, "name")
	d.GetRevisionAfterSQL = read("GetRevisionAfter", "", newestBetweenAt, "name")
	d.GetRevisionAfterValSQL = read("GetRevisionAfterVal", withValue, newestBetweenAt, "name")
	d.AfterOldValSQL = read("AfterOldVal", bothValues, between+later, "id")
	d.AfterSingleOldValSQL = read("AfterSingleOldVal", bothValues, named+later, "id")
	d.AfterAllOldValSQL = read("AfterAllOldVal", bothValues, "k.id > ?", "id")
	d.CompactSQL = set(compactSQL, "Compact")
	d.GetSizeSQL = set(size, "GetSize")
	d.ErrCode = errorCode
	return d
}
