package destination

import (
	"context"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/minio/minio-go/v7"
)

// bucket is a destination below a prefix of an S3 bucket.
type bucket struct {
	client                 *minio.Client
	name, prefix, endpoint string
}

// String implements Destination.
func (b *bucket) String() string { return scheme + path.Join(b.name, b.prefix) }

// Staging implements Destination.
func (b *bucket) Staging() string { return "" }

// key is where an object is.
func (b *bucket) key(object string) string { return path.Join(b.prefix, object) }

// signed reports errNoCredentials in place of a request without a signature, which a public bucket
// would accept.
func (b *bucket) signed() error {
	v, err := b.client.GetCreds()
	if err != nil {
		return fmt.Errorf("%w (%w)", errNoCredentials, err)
	}
	if v.AccessKeyID == "" || v.SecretAccessKey == "" {
		return errNoCredentials
	}
	return nil
}

// Put implements Destination. The server checks the MD5 of what it gets, part by part, and shows the
// object when it has all of it.
func (b *bucket) Put(ctx context.Context, name Name, file string) error {
	if err := b.signed(); err != nil {
		return err
	}
	key := b.key(name.String())
	put, err := b.client.FPutObject(ctx, b.name, key, file,
		minio.PutObjectOptions{ContentType: "application/zstd", SendContentMd5: true})
	if err != nil {
		return b.explain("write the backup", err)
	}
	got, err := b.client.StatObject(ctx, b.name, key, minio.StatObjectOptions{})
	if err != nil {
		return b.explain("look at the backup", err)
	}
	if got.Size != put.Size {
		return fmt.Errorf("%s/%s has %d bytes after a write of %d; it is written again", b, name, got.Size, put.Size)
	}
	return nil
}

// List implements Destination.
func (b *bucket) List(ctx context.Context) ([]Stored, error) {
	if err := b.signed(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the listing
	below := ""
	if b.prefix != "" {
		below = b.prefix + "/"
	}
	var found []Stored
	for o := range b.client.ListObjects(ctx, b.name, minio.ListObjectsOptions{Prefix: below + prefix}) {
		if o.Err != nil {
			return nil, b.explain("list the backups", o.Err)
		}
		if name, ok := ParseName(strings.TrimPrefix(o.Key, below)); ok {
			found = append(found, Stored{name, o.Size})
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	slices.SortFunc(found, byTime)
	return found, nil
}

// Remove implements Destination.
func (b *bucket) Remove(ctx context.Context, name Name) error {
	err := b.client.RemoveObject(ctx, b.name, b.key(name.String()), minio.RemoveObjectOptions{})
	return b.explain("remove "+name.String(), err)
}

// read opens an object.
func (b *bucket) read(ctx context.Context, object string) (io.ReadCloser, error) {
	if err := b.signed(); err != nil {
		return nil, err
	}
	o, err := b.client.GetObject(ctx, b.name, b.key(object), minio.GetObjectOptions{})
	if err == nil {
		_, err = o.Stat() // GetObject itself asks nothing
	}
	if err != nil {
		return nil, b.explain("read "+object, err)
	}
	return &objectReader{o, b, object}, nil
}

// objectReader says of an error that it is one of the bucket.
type objectReader struct {
	*minio.Object
	bucket *bucket
	name   string
}

// Read implements io.Reader.
func (r *objectReader) Read(p []byte) (int, error) {
	n, err := r.Object.Read(p)
	if err != nil && err != io.EOF {
		err = &ReadError{r.bucket.explain("read "+r.name, err)}
	}
	return n, err
}

// ReadError is returned by a reader of Read when the backup cannot be had, which says nothing of
// whether it is sound.
type ReadError struct{ err error }

// Error says what to do.
func (e *ReadError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *ReadError) Unwrap() error { return e.err }
