// Package mover copies what a volume holds into another volume, at another site, through a stream. Only
// what differs crosses it.
//
//	s := mover.NewSender(source)         // *os.Root
//	report, err := s.Round(ctx, stream)  // again and again, while the workload runs
//	err = s.Verify(ctx, stream)          // once it has stopped: both sides hold the same
//
//	report, err := mover.Receive(ctx, copied, stream)   // at the other end, for each Round and Verify
//
// Life of a file in a round:
//
//  1. The sender flushes its file system, so that a change through a mapping has changed the file's times.
//  2. It walks its tree in the order of names. A file that is as it was in an earlier round is only named.
//  3. Of every other one it sends the SHA-256 of each block of 128 KiB, 256 blocks at a time.
//  4. The receiver reads what it has, and asks for the blocks that differ. Zeros become holes.
//  5. It removes what the sender has not named, flushes its file system, and acknowledges.
//
// A round that is cut off is begun again: what had arrived is not sent twice, since it does not differ. A
// round beside writers copies files torn; the next one, or the last after they have ended, mends that. Verify
// makes a round and has the receiver say what its disk holds: blocks that it was asked to compare were read from there
// in the round, and blocks that were written are read again.
//
// Rounds may be processes of their own. Each end then has a file, outside of the volume, of what it knows of files by
// their inode, size and times: the sender what it has sent (Sender.Remember), the receiver what it has read back
// (ReceiveAgain). So the last round, while the app stands still, reads what has changed since the one before. Who has
// lost that file compares everything.
//
// A copy may be a standby (ReceiveStandby), which an app may begin on at any time: a round changes nothing before
// all of it is on the disk, in a log that is applied then, and again from the beginning if that was ended. Settle
// says which round a standby holds.
//
// Sockets, pipes and devices are not copied, and lost+found is left alone. The report names them, and what
// the receiver may not set: owners, modes, attributes. Neither side trusts the other: names are checked, lengths
// are bounded before anything is allocated, and os.Root keeps both inside their volume.
package mover
