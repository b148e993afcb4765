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
)

// FileName is the database's file below Config.Dir. SQLite puts "-wal" and "-shm" files beside it.
const FileName = "state.db"

// etcdVersion is what the store claims to be: the first one of which an API server takes it that
// progress of a watch can be asked for.
const etcdVersion = "3.5.13"

// Config of Open.
type Config struct {
	// Dir holds the database. It must exist.
	Dir string
	// Endpoint is a database that several replicas of a center share,
	// postgres://USER:PASSWORD@HOST:PORT/DATABASE, in place of Dir.
	Endpoint string
	// CompactInterval is how long superseded revisions are kept at least; 0 means 5 minutes.
	CompactInterval time.Duration
	// Progress is how long after a write a watch is told at the latest that there was one
	// elsewhere; 0 means 30 s.
	Progress time.Duration
	// Log of the store itself; nil discards. kine logs through logrus, which is bridged by the
	// program.
	Log *slog.Logger
}

// Store is an open database.
type Store struct {
	client      *kubernetes.Client
	incarnation store.Incarnation
	eras        store.Eras
	backend     *backend
	file        *file     // nil for a shared database
	shared      *postgres // nil for a file
	grpc        *grpc.Server
	direct      *direct
	troubles    *troubles
	cancel      context.CancelFunc
	running     sync.WaitGroup
	served      chan struct{}
	log         *slog.Logger
}

// Open opens or creates the database in c.Dir. The context covers the opening only; end the Store
// with Close.
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
		return nil, errors.Join(s.troubles.note(err, 0), s.shared.close())
	}
	if s.client, err = dial(s.listen()); err != nil {
		s.Close()
		return nil, err
	}
	s.client.KV = clientv3.NewKVFromKVClient(s.direct, s.client.Client)
	return s, nil
}

// inWords returns an error of a request as its client is told.
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
	etcdserverpb.RegisterWatchServer(s.grpc, &watchServer{s.backend})
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

// Client is the one etcd client on the store; share it, never close it.
func (s *Store) Client() *kubernetes.Client { return s.client }

// Rest gives back the memory of what was needed while there was much to do: each connection to a
// file has a cache of up to 2 MB, and the next burst opens those again that it needs.
func (s *Store) Rest() {
	if s.file != nil {
		s.file.rest()
	}
}

// Incarnation identifies this life of the data. It is made with the database and stands in it.
func (s *Store) Incarnation() store.Incarnation { return s.incarnation }

// Eras are the runs on this data, this one last. They stand in the database, so that a restored
// backup does not know the later ones. Of a shared database they are nil until this replica has
// called BeginEra.
func (s *Store) Eras() store.Eras { return s.eras }

// Revision is the revision of the newest write.
func (s *Store) Revision(ctx context.Context) (int64, error) {
	rev, err := s.backend.CurrentRevision(ctx)
	if err != nil {
		return 0, fmt.Errorf("read revision of store: %w", err)
	}
	return rev, nil
}

// Close ends all reads and watches, and closes the database. Nothing of the store runs any more
// when it returns.
func (s *Store) Close() error {
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
	if err = errors.Join(err, s.shared.close()); err != nil {
		return fmt.Errorf("close store: %w", err)
	}
	return nil
}
