package kine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/k3s-io/kine/pkg/server"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/kubernetes"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/etcd"
)

// FileName is the database's file below Config.Dir. SQLite puts "-wal" and "-shm" files beside it.
const FileName = "state.db"

// etcdVersion is the version that the store reports: the first of which an API server believes that
// a client may ask for the progress of a watch.
const etcdVersion = "3.5.13"

// Config of Open.
type Config struct {
	// Dir holds the database. It must exist.
	Dir string
	// Endpoint is a database that several replicas of a center share, in place of Dir:
	// postgres://USER:PASSWORD@HOST:PORT/DATABASE, or https://HOST:PORT of each member of an etcd
	// cluster, with commas.
	Endpoint string
	// EndpointFiles are those of TLS with etcd.
	EndpointFiles etcd.Files
	// CompactInterval is how long superseded revisions are kept at least; 0 means 5 minutes.
	CompactInterval time.Duration
	// Progress is the longest time after a write until watches of other keys are sent its revision
	// as progress; 0 means 30 s.
	Progress time.Duration
	// Log of the store itself; nil discards. kine logs through logrus, which the program bridges.
	Log *slog.Logger
}

// Store is an open database.
type Store struct {
	client      *kubernetes.Client
	incarnation store.Incarnation
	eras        store.Eras
	backend     *backend
	file        *file         // nil for a shared database
	shared      shared        // nil for a file
	cluster     *etcd.Cluster // nil unless that is shared; it has no backend
	grpc        *grpc.Server
	direct      *direct
	troubles    *troubles
	cancel      context.CancelFunc
	running     sync.WaitGroup
	served      chan struct{}
	log         *slog.Logger
}

// Open opens or creates the database. The context covers the opening only; Close ends the Store. It
// returns ErrEndpoint for an invalid Config.Endpoint and a *Trouble when the disk refuses.
func Open(ctx context.Context, c Config) (*Store, error) {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.CompactInterval == 0 {
		c.CompactInterval = 5 * time.Minute
	}
	run, cancel := context.WithCancel(context.Background())
	s := &Store{cancel: cancel, served: make(chan struct{}), log: c.Log,
		troubles: &troubles{dir: c.Dir, log: c.Log}}
	var err error
	if c.Endpoint != "" {
		s.troubles.dir = ""
		err = s.openEndpoint(ctx, run, c)
	} else {
		s.file, err = openFile(ctx, run, &s.running, c)
		if err == nil {
			s.backend, s.incarnation, s.eras = s.file.backend, s.file.incarnation, s.file.eras
		}
	}
	if err != nil {
		cancel()
		s.running.Wait()
		return nil, errors.Join(s.troubles.note(err, 0), s.closeShared())
	}
	if s.cluster != nil {
		s.client = s.cluster.Client()
		return s, nil
	}
	if s.client, err = dial(s.listen()); err != nil {
		s.Close()
		return nil, err
	}
	s.client.KV = clientv3.NewKVFromKVClient(s.direct, s.client.Client)
	return s, nil
}

// inWords returns an error of a request as its client is told it.
func (s *Store) inWords(err error) error { return s.troubles.note(err, s.commits()) }

// commits is how many transactions of a file were made durable.
func (s *Store) commits() int64 {
	if s.file == nil {
		return 0
	}
	return s.file.commits()
}

// listen serves the etcd API, in memory and by calls, and returns how to reach it.
func (s *Store) listen() *bufconn.Listener {
	l := bufconn.Listen(256 << 10)
	s.grpc = grpc.NewServer(grpc.MaxRecvMsgSize(4<<20), grpc.WaitForHandlers(true))
	api := server.New(s.backend, "http", 5*time.Second, etcdVersion)
	etcdserverpb.RegisterKVServer(s.grpc, api)
	etcdserverpb.RegisterLeaseServer(s.grpc, api)
	etcdserverpb.RegisterMaintenanceServer(s.grpc, api)
	etcdserverpb.RegisterWatchServer(s.grpc, &watchServer{backend: s.backend})
	s.direct = newDirect(api, s)
	go func() {
		defer close(s.served)
		if err := s.grpc.Serve(l); err != nil {
			s.log.Error("store stopped serving", "err", err)
		}
	}()
	return l
}

func dial(l *bufconn.Listener) (*kubernetes.Client, error) {
	c, err := kubernetes.New(clientv3.Config{
		// never resolved: the dialer below ignores it
		Endpoints:   []string{"http://store.invalid:2379"},
		DialTimeout: 10 * time.Second,
		Logger:      zap.NewNop(),
		DialOptions: []grpc.DialOption{
			grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
				return l.DialContext(ctx)
			}),
			grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(1<<31 - 1)),
		},
	})
	if err != nil {
		return nil, fmt.Errorf("connect to store: %w", err)
	}
	return c, nil
}

// Client returns the one etcd client on the store. Share it, and never close it.
func (s *Store) Client() *kubernetes.Client { return s.client }

// ReleaseMemory gives back memory after a burst: each idle connection to a file has a cache of up
// to 2 MB. The next burst opens new connections.
func (s *Store) ReleaseMemory() {
	if s.file != nil {
		s.file.rest()
	}
}

// Incarnation returns the identity of this life of the data. It is made with the database and
// stored in it.
func (s *Store) Incarnation() store.Incarnation { return s.incarnation }

// Eras returns the runs on this data, this one last. They are stored in the database, so that a
// restored backup does not know the later ones. In a shared database they are nil until BeginEra.
func (s *Store) Eras() store.Eras { return s.eras }

// Revision returns the revision of the newest write.
func (s *Store) Revision(ctx context.Context) (rev int64, err error) {
	if s.cluster != nil {
		rev, err = s.cluster.Revision(ctx)
	} else {
		rev, err = s.backend.CurrentRevision(ctx)
	}
	if err != nil {
		return 0, fmt.Errorf("read revision of store: %w", err)
	}
	return rev, nil
}

// Size returns how many bytes the data takes in the database.
func (s *Store) Size(ctx context.Context) (int64, error) {
	if s.cluster != nil {
		return s.cluster.Size(ctx)
	}
	return s.backend.DbSize(ctx)
}

// Alive waits until the writer of the store has had its turn. It returns an error when ctx ends
// first: a write hangs. It writes nothing, and an error of the disk is no error here. An etcd cluster
// has its own.
func (s *Store) Alive(ctx context.Context) error {
	if s.cluster != nil {
		return nil
	}
	if err := s.backend.committer.alone(ctx, func() error { return nil }); err != nil {
		return fmt.Errorf("the datastore's writer is stuck: %w", err)
	}
	return nil
}

// Close ends all reads and watches, and closes the database. No goroutine of the store runs when it
// returns.
func (s *Store) Close() error {
	if s.cluster != nil {
		s.cancel()
		return s.closeShared()
	}
	var err error
	if s.client != nil {
		err = s.client.Close()
	}
	s.direct.end()
	s.grpc.Stop()
	<-s.served
	s.file.close()
	s.cancel()
	s.running.Wait()
	if err = errors.Join(err, s.closeShared()); err != nil {
		return fmt.Errorf("close store: %w", err)
	}
	return nil
}

func (s *Store) closeShared() error {
	if s.shared == nil {
		return nil
	}
	return s.shared.Close()
}
