package destination

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// S3 says how a bucket is reached. What is empty comes from AWS' own variables and files.
type S3 struct {
	// Endpoint is https://HOST:PORT; empty means Amazon's.
	Endpoint string
	// Region of the bucket. Empty asks Amazon, and is us-east-1 elsewhere.
	Region string
	// CAFile has authorities that are trusted besides the system's, in PEM.
	CAFile string
	// CredentialsFile is in AWS' format: a profile, aws_access_key_id, aws_secret_access_key.
	CredentialsFile string
}

const (
	amazon        = "https://s3.amazonaws.com"
	defaultRegion = "us-east-1"
	// answerTimeout is how long a server may take to begin an answer.
	answerTimeout = time.Minute
	// giveTimeout is how long the machine, or the pod, may take to give credentials.
	giveTimeout = 10 * time.Second
	// tries of a request. Who schedules backups tries again, too.
	tries = 3
)

var bucketName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{1,61}[a-z0-9]$`)

// openBucket returns the destination of s3://BUCKET/PREFIX.
func openBucket(location string, o S3) (*bucket, error) {
	name, prefix, _ := strings.Cut(strings.TrimPrefix(location, scheme), "/")
	prefix = strings.Trim(prefix, "/")
	if !bucketName.MatchString(name) || strings.ContainsAny(prefix, "?#\\") || strings.Contains("/"+prefix+"/", "/../") {
		return nil, fmt.Errorf("%q: write s3://BUCKET/PREFIX", location)
	}
	text := cmp.Or(o.Endpoint, amazon)
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || strings.Trim(u.Path, "/") != "" {
		return nil, fmt.Errorf("--s3-endpoint %q: write https://HOST:PORT", text)
	}
	transport, err := o.transport(u.Scheme == "https")
	if err != nil {
		return nil, err
	}
	region := cmp.Or(o.Region, os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION"))
	if region == "" && o.Endpoint != "" {
		region = defaultRegion
	}
	client, err := minio.New(u.Host, &minio.Options{Creds: o.credentials(transport), Secure: u.Scheme == "https",
		Transport: transport, Region: region, MaxRetries: tries})
	if err != nil {
		return nil, fmt.Errorf("--s3-endpoint %q: %w", text, err)
	}
	return &bucket{client: client, name: name, prefix: prefix, endpoint: text}, nil
}

func (o S3) transport(secure bool) (http.RoundTripper, error) {
	t, err := minio.DefaultTransport(secure)
	if err != nil {
		return nil, err
	}
	t.ResponseHeaderTimeout = answerTimeout
	file := cmp.Or(o.CAFile, os.Getenv("AWS_CA_BUNDLE"))
	if file == "" || !secure {
		return t, nil
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("--s3-ca-file: %w", err)
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool()
	}
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("--s3-ca-file %s: no certificate is in it", file)
	}
	t.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots}
	return t, nil
}

// credentials are looked for where AWS' own tools look: variables, a file, and what the machine, or
// the pod, is given. The last is asked at Amazon only, or where AWS' variables say so: elsewhere
// nobody answers.
func (o S3) credentials(transport http.RoundTripper) *credentials.Credentials {
	if o.CredentialsFile != "" {
		return credentials.New(&credentials.FileAWSCredentials{Filename: o.CredentialsFile})
	}
	chain := []credentials.Provider{&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}}
	given := o.Endpoint == ""
	for _, v := range []string{"AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
		"AWS_CONTAINER_CREDENTIALS_FULL_URI"} {
		given = given || os.Getenv(v) != ""
	}
	if given {
		chain = append(chain, &credentials.IAM{Client: &http.Client{Transport: transport, Timeout: giveTimeout}})
	}
	return credentials.New(&credentials.Chain{Providers: chain})
}

// errNoCredentials is returned before a request that would be anonymous.
var errNoCredentials = errors.New("no S3 credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, name a file " +
	"in AWS' format by --s3-credentials-file, or under systemd put it into /etc/skerry/credentials/s3")
