package etcd

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/kubernetes"
	"go.etcd.io/etcd/client/v3/namespace"
	"go.uber.org/zap"
)

const (
	dialTimeout = 20 * time.Second
	// keepAlive is when a connection that is quiet is probed, and keepAliveTimeout when it is given
	// up: as an API server has it.
	keepAlive        = 30 * time.Second
	keepAliveTimeout = 10 * time.Second
	// maxAnswer is how large an answer may be; its request bounds it.
	maxAnswer = 1<<31 - 1
	// maxRequest is how large a request may be. The members have a limit of their own
	// (--max-request-bytes, 1.5 MiB).
	maxRequest = 8 << 20
)

// Config of Open.
type Config struct {
	// Endpoint is https://HOST:PORT of each member, with commas.
	Endpoint string
	Files    Files
	// CompactInterval is how long superseded revisions are kept at least; 0 means 5 minutes.
	CompactInterval time.Duration
	// InWords returns an error of a request as its caller is told it; nil changes none.
	InWords func(error) error
	// Log must not be nil.
	Log *slog.Logger
}

// Cluster is an open etcd cluster.
type Cluster struct {
	address address
	client  *kubernetes.Client
	tls     *tls.Config // nil for a cluster on this machine without it
	// raw has all keys, as the members have them; meta has those that are not the API server's.
	raw     clientv3.KV
	meta    clientv3.KV
	log     *slog.Logger
	cancel  context.CancelFunc
	running sync.WaitGroup
}

// Open connects to a cluster, and returns an error if none of its members answers or one of those
// that do is too old. The context covers the opening only; Close ends the Cluster.
//
// A cluster in which a restore has broken off is refused (restore.ErrUnfinished).
func Open(ctx context.Context, c Config) (*Cluster, error) {
	s, err := connect(ctx, c)
	if err != nil {
		return nil, err
	}
	by, err := s.opened(ctx)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.below(by, c.InWords)
	run, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	s.running.Go(func() { s.compact(run, cmp.Or(c.CompactInterval, compactInterval)) })
	return s, nil
}

// connect reaches a cluster. Its revisions are those that the members have.
func connect(ctx context.Context, c Config) (*Cluster, error) {
	a, err := parse(c.Endpoint)
	if err != nil {
		return nil, err
	}
	config := clientv3.Config{Endpoints: a.members, Username: a.user, Password: a.password, DialTimeout: dialTimeout,
		DialKeepAliveTime: keepAlive, DialKeepAliveTimeout: keepAliveTimeout, Logger: zap.NewNop(),
		MaxCallSendMsgSize: maxRequest, MaxCallRecvMsgSize: maxAnswer}
	if !a.plain {
		if config.TLS, err = c.Files.config(); err != nil {
			return nil, err
		}
	}
	client, err := kubernetes.New(config)
	if err != nil {
		return nil, fmt.Errorf("reach the datastore at %s: %w", a.members[0], explain(err))
	}
	s := &Cluster{address: a, client: client, tls: config.TLS, log: c.Log, cancel: func() {}}
	if err := s.check(ctx); err != nil {
		return nil, errors.Join(err, client.Close())
	}
	s.raw = clientv3.NewKVFromKVClient(&spoken{clientv3.RetryKVClient(client.Client), c.InWords}, client.Client)
	s.meta = namespace.NewKV(s.raw, a.prefix+metaMark)
	return s, nil
}

// metaMark stands behind the prefix in keys that are not the API server's, objectMark in those that
// are.
const (
	metaMark   = ":"
	objectMark = "/"
)

// below puts all keys of the client below the prefix, those of objects and ours apart, and makes its
// revisions those of shifted.
func (c *Cluster) below(by int64, inWords func(error) error) {
	kv := c.raw
	if by > 0 {
		kv = clientv3.NewKVFromKVClient(&shifted{
			&spoken{clientv3.RetryKVClient(c.client.Client), inWords}, by}, c.client.Client)
	}
	c.meta = namespace.NewKV(kv, c.address.prefix+metaMark)
	c.client.KV = namespace.NewKV(kv, c.address.prefix)
	c.client.Watcher = namespace.NewWatcher(&ledWatcher{Watcher: c.client.Watcher, by: by, log: c.log},
		c.address.prefix)
	c.client.Lease = namespace.NewLease(c.client.Lease, c.address.prefix)
}

// Client returns the one client of the cluster. Its keys are without the prefix. Share it, and never
// close it.
func (c *Cluster) Client() *kubernetes.Client { return c.client }

// Revision returns the revision of the newest write to the cluster.
func (c *Cluster) Revision(ctx context.Context) (int64, error) {
	resp, err := c.meta.Get(ctx, incarnationKey, clientv3.WithCountOnly())
	if err != nil {
		return 0, err
	}
	return resp.Header.Revision, nil
}

// Size returns how many bytes of the cluster's database are in use, also by others.
func (c *Cluster) Size(ctx context.Context) (int64, error) {
	var errs []error
	for _, m := range c.address.members {
		status, err := c.client.Status(ctx, m)
		if err == nil {
			return status.DbSizeInUse, nil
		}
		errs = append(errs, err)
	}
	return 0, errors.Join(errs...)
}

// Granted returns for how long a lease was granted, in seconds; 0 if it has ended.
func (c *Cluster) Granted(ctx context.Context, lease int64) (int64, error) {
	resp, err := c.client.TimeToLive(ctx, clientv3.LeaseID(lease))
	if err != nil || resp.TTL < 0 {
		return 0, err
	}
	return resp.GrantedTTL, nil
}

// Close ends all watches and the connections.
func (c *Cluster) Close() error {
	c.cancel()
	c.running.Wait()
	return c.client.Close()
}
