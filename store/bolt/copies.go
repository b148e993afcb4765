package bolt

import (
	"bytes"
	"fmt"
	"strings"

	"go.etcd.io/bbolt"
)

// The names of copies. A file has one of each, or one for each of many senders, see ReportedBy.
const (
	sinkDesired  = "desired"
	sinkReported = "reported"
	reportedBy   = sinkReported + "/"
)

// ReportedBy returns the name, for File.Sink, of the copy of what one of many senders reports.
func ReportedBy(sender string) string { return reportedBy + sender }

func isCopy(name []byte) bool {
	return string(name) == sinkDesired || string(name) == sinkReported ||
		bytes.HasPrefix(name, []byte(reportedBy))
}

// copies returns the names of the copies that hold something, or held something once.
func copies(tx *bbolt.Tx) (names []string, err error) {
	err = tx.ForEach(func(name []byte, _ *bbolt.Bucket) error {
		if isCopy(name) {
			names = append(names, string(name))
		}
		return nil
	})
	return names, err
}

// Senders returns the senders of which the file has a copy, in the order of their names.
func (f *File) Senders() (senders []string, err error) {
	err = f.view(func(tx *bbolt.Tx) error {
		names, err := copies(tx)
		for _, name := range names {
			if sender, ok := strings.CutPrefix(name, reportedBy); ok {
				senders = append(senders, sender)
			}
		}
		return err
	})
	return senders, err
}

// Drop removes a copy with all that is in it. Its Sink must not be used any more; one that is
// opened later is new.
func (f *File) Drop(name string) error {
	err := f.update(func(tx *bbolt.Tx) error {
		if tx.Bucket([]byte(name)) == nil {
			return nil
		}
		meta := tx.Bucket(bucketMeta)
		for _, key := range [][]byte{keyState(name), keyDigest(name)} {
			if err := meta.Delete(key); err != nil {
				return err
			}
		}
		return tx.DeleteBucket([]byte(name))
	})
	if err != nil {
		return fmt.Errorf("remove the copy %s: %w", name, err)
	}
	return nil
}
