package destination

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"

	"github.com/minio/minio-go/v7"
)

// rights are those of AWS that a center needs.
const rights = "s3:PutObject, s3:GetObject, s3:DeleteObject and s3:ListBucket"

// explain adds to an error of a bucket what to do.
func (b *bucket) explain(what string, err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	return fmt.Errorf("%s: %s (%w)", what, b.next(err), err)
}

// next is the cause of an error, and the next step.
func (b *bucket) next(err error) string {
	var refused minio.ErrorResponse
	var network net.Error
	var resolve *net.DNSError
	switch {
	case errors.As(err, &refused):
		return b.refused(refused)
	case errors.As(err, &resolve):
		return fmt.Sprintf("the name of %s does not resolve; correct --s3-endpoint, or the DNS", b.endpoint)
	case errors.As(err, &network) && network.Timeout(), errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("%s does not answer in time; look at the network, or the server", b.endpoint)
	}
	return fmt.Sprintf("%s cannot be reached; look at --s3-endpoint, the network and the server", b.endpoint)
}

func (b *bucket) refused(r minio.ErrorResponse) string {
	switch r.Code {
	case minio.NoSuchBucket:
		return fmt.Sprintf("the bucket %s does not exist at %s; create it, or correct the location", b.name, b.endpoint)
	case minio.NoSuchKey:
		return "the backup is not there; see which are: skerry center backups " + b.String()
	case "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken":
		return fmt.Sprintf("%s does not accept the credentials (%s); correct them", b.endpoint, r.Code)
	case "RequestTimeTooSkewed":
		return "this machine's clock is off; set it"
	case "AuthorizationHeaderMalformed", "PermanentRedirect", "InvalidRegion":
		return "the bucket is in another region; name it by --s3-region"
	case "XMinioStorageFull", "QuotaExceeded", "XMinioAdminBucketQuotaExceeded":
		return fmt.Sprintf("the bucket %s is full; make space there, or keep fewer backups (--backup-keep)", b.name)
	}
	switch {
	case r.StatusCode == http.StatusForbidden || r.StatusCode == http.StatusUnauthorized || r.Code == minio.AccessDenied:
		return fmt.Sprintf("the credentials may not do it in the bucket %s; give them %s", b.name, rights)
	case r.StatusCode == http.StatusNotFound:
		return fmt.Sprintf("there is no bucket %s at %s; create it, or correct the location", b.name, b.endpoint)
	case r.StatusCode == http.StatusInsufficientStorage:
		return fmt.Sprintf("the bucket %s is full; make space there, or keep fewer backups (--backup-keep)", b.name)
	}
	return fmt.Sprintf("%s answers %d %s", b.endpoint, r.StatusCode, r.Code)
}
