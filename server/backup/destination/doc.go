// Package destination is where backups are kept: a directory, or a prefix of an S3 bucket.
//
// A backup has a Name, which says whose it is and of when. Both destinations show a backup as a
// whole or not at all. They list, and remove, only files whose names are Names.
//
//	d, err := destination.Open("s3://backups/center", s3)
//	err = d.Put(ctx, destination.Name{Center: id, Made: now}, file)
//
// Errors say the cause and what to do.
package destination
