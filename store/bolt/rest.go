package bolt

import "go.etcd.io/bbolt"

// ReleaseMemory gives the pages of the file that are in this process's memory back: some 24 KB of a
// small file, all that was ever read of a large one. What is needed again comes back from the page
// cache. A failure leaves things as they are.
func (f *File) ReleaseMemory() {
	_ = f.view(func(tx *bbolt.Tx) error { // the file is not mapped anew while a transaction reads
		dropPages(tx.DB().Info().Data, uintptr(tx.Size()))
		return nil
	})
}
