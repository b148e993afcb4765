package destination

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Destination keeps backups.
type Destination interface {
	// Put stores the file at path under a name that is new. When it returns without an error the
	// backup is durable, whole, and listed.
	Put(ctx context.Context, name Name, path string) error
	// List returns the backups of all centers, oldest first.
	List(ctx context.Context) ([]Stored, error)
	// Remove deletes one. That it is not there is no error.
	Remove(ctx context.Context, name Name) error
	// Staging is a directory on the disk to which Put moves a file without a copy; "" is none.
	Staging() string
	// String names the destination, without secrets.
	String() string
}

// scheme begins the location of a bucket.
const scheme = "s3://"

// IsBucket reports whether a location is one of S3.
func IsBucket(location string) bool { return strings.HasPrefix(location, scheme) }

// Open returns the destination DIR or s3://BUCKET/PREFIX. It asks nobody yet.
func Open(location string, o S3) (Destination, error) {
	if IsBucket(location) {
		return openBucket(location, o)
	}
	if !filepath.IsAbs(location) {
		return nil, fmt.Errorf("%q: write the whole path of a directory, or s3://BUCKET/PREFIX", location)
	}
	return Directory(filepath.Clean(location)), nil
}

// ErrNone is returned by Read for a destination without a backup.
var ErrNone = errors.New("no backup is there that a center named (skerry-CENTER-TIME.skerry); for a file of another " +
	"name: skerry center restore FILE")

// ErrSeveral is returned by Read for a destination with the backups of several centers.
var ErrSeveral = errors.New("backups of several centers are there; name the one to restore")

// Read opens the backup at a location: a file, s3://BUCKET/PREFIX/NAME.skerry, or the newest one of
// a directory or of s3://BUCKET/PREFIX. It returns its full location, too.
func Read(ctx context.Context, location string, o S3) (in io.ReadCloser, found string, err error) {
	if IsBucket(location) {
		return readBucket(ctx, location, o)
	}
	info, err := os.Stat(location)
	if err != nil {
		return nil, location, fmt.Errorf("open the backup: %w; give the file that skerry center backup wrote", err)
	}
	if info.IsDir() {
		newest, err := newest(ctx, Directory(location))
		if err != nil {
			return nil, location, err
		}
		location = filepath.Join(location, newest.String())
	}
	f, err := os.Open(location)
	if err != nil {
		return nil, location, fmt.Errorf("open the backup: %w; give the file that skerry center backup wrote", err)
	}
	return f, location, nil
}

func readBucket(ctx context.Context, location string, o S3) (in io.ReadCloser, found string, err error) {
	object := ""
	if strings.HasSuffix(location, suffix) {
		location, object = path.Split(location)
	}
	b, err := openBucket(location, o)
	if err != nil {
		return nil, location, err
	}
	if object == "" {
		name, err := newest(ctx, b)
		if err != nil {
			return nil, location, err
		}
		object = name.String()
	}
	in, err = b.read(ctx, object)
	return in, b.String() + "/" + object, err
}

// newest returns the newest backup of a destination that has those of one center.
func newest(ctx context.Context, d Destination) (Name, error) {
	all, err := d.List(ctx)
	if err != nil {
		return Name{}, err
	}
	if len(all) == 0 {
		return Name{}, fmt.Errorf("%s: %w", d, ErrNone)
	}
	last := all[len(all)-1].Name
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].Center != last.Center {
			return Name{}, fmt.Errorf("%s: %w, for example %s, or %s", d, ErrSeveral, last, all[i].Name)
		}
	}
	return last, nil
}
