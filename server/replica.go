package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"

	"k8s.io/client-go/rest"

	"skerry.dev/skerry/server/backup"
	"skerry.dev/skerry/server/pki"
	"skerry.dev/skerry/store/kine"
)

// openData opens the datastore and the keys: both in the data directory, or both in what the
// replicas share, of which the directory then has a copy of the keys.
func (s *Server) openData() (err error) {
	keys := pki.Options{
		Dir:       filepath.Join(s.cfg.DataDir, "pki"),
		New:       isNew(s.cfg.DataDir),
		AgentLife: s.cfg.CertificateLife,
		Log:       s.cfg.Log,
	}
	if s.cfg.Datastore == "" {
		if err := backup.Unfinished(s.cfg.DataDir); err != nil {
			return err
		}
		if s.keys, err = pki.Load(keys); err != nil {
			return err
		}
	}
	if s.store, err = kine.Open(
		context.Background(),
		kine.Config{Dir: s.cfg.DataDir, Endpoint: s.cfg.Datastore, EndpointFiles: s.cfg.DatastoreFiles, Log: s.cfg.Log},
	); err != nil {
		return err
	}
	s.closers = append(s.closers, s.store.Close)
	if s.cfg.Datastore == "" {
		return s.openEncryption()
	}
	if s.shared, err = newSharedKeys(s.store, keys.Dir, s.cfg.SecretFile, s.cfg.Log.With("part", "keys")); err != nil {
		return err
	}
	s.shared.first = s.firstEncryptionKey
	if s.keys, err = s.shared.load(context.Background(), keys); err != nil {
		return err
	}
	return s.openEncryption()
}

// asLeader is the loopback of the parts that only the leader runs.
func (s *Server) asLeader(space string) *rest.Config {
	c := s.api.Loopback(space)
	if s.lead == nil {
		return c
	}
	return s.lead.fence(c)
}

// onlyLeader serves a route while this replica leads. Agents try the next address of their parent.
func (s *Server) onlyLeader(h http.Handler) http.Handler {
	if s.lead == nil {
		return h
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.lead.holds() {
			http.Error(
				w,
				"this replica of the center stands by; ask the one that leads (Lease kube-system/"+leaseName+" of root)",
				http.StatusServiceUnavailable,
			)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// agentsWhileOpen refuses the handshakes of agents over TCP while the sessions is closed: at a
// replica that stands by, so that they try the next address, and while a center starts. A
// connection that nobody serves would win the agents' race against UDP, where what they send waits
// for the sessions.
func (s *Server) agentsWhileOpen(agents func() *tls.Config) func() *tls.Config {
	refuse := &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return nil, errClosed }}
	return func() *tls.Config {
		if s.open.Load() && (s.lead == nil || s.lead.holds()) {
			return agents()
		}
		return refuse
	}
}

// errClosed is why an agent's handshake is refused.
var errClosed = errors.New("this center, or this replica of it, does not serve agents now")

// Won is closed when this replica leads. Of a center of one replica it is nil.
func (l *leadership) Won() <-chan struct{} {
	if l == nil {
		return nil
	}
	return l.won
}

// standBy serves the API without deciding anything until this replica leads. What the last leader
// has written is in the datastore when it returns, and what that one may still try is refused by
// its fence.
func (s *Server) standBy(ctx context.Context, start func(name string, run func(context.Context) error)) error {
	s.beReady()
	s.cfg.Log.Info("this replica stands by: it serves the API, and decides nothing before it leads")
	start("keys", func(ctx context.Context) error { return s.shared.follow(ctx, s.lead.won, s.keys, s.followed) })
	start("election", s.lead.Run)
	select {
	case <-s.lead.won:
	case <-ctx.Done():
		return nil
	}
	if err := s.shared.refresh(ctx, s.keys, s.followed); err != nil {
		return fmt.Errorf("lead: %w", err)
	}
	eras, err := s.store.BeginEra(ctx)
	if err != nil {
		return fmt.Errorf("lead: %w", err)
	}
	s.delivery.Begin(eras)
	if err := s.reports.Clear(); err != nil {
		return fmt.Errorf("lead: %w", err)
	}
	s.cfg.Log.Info("this replica leads")
	return nil
}

// beReady closes Ready, once.
func (s *Server) beReady() {
	s.readyOnce.Do(func() {
		close(s.ready)
		s.starting.end()
	})
}
