package server

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"skerry.dev/skerry/server/apiserver"
	"skerry.dev/skerry/server/apiserver/storage"
)

// Run serves until ctx ends or a part fails. Parts start in the order API, spaces, controllers,
// sessions, and all stop together; the data is closed last.
func (s *Server) Run(ctx context.Context) (err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer func() { err = errors.Join(err, s.close()) }()
	var parts sync.WaitGroup
	start := func(name string, run func(context.Context) error) {
		parts.Go(func() {
			if err := run(ctx); err != nil && ctx.Err() == nil {
				cancel(fmt.Errorf("%s: %w", name, err))
			}
		})
	}
	started := func(ready <-chan struct{}) bool {
		select {
		case <-ready:
			return true
		case <-ctx.Done():
			return false
		}
	}
	caughtUp := make(chan struct{})
	s.starting.on("the kube API to serve root")
	rotations := newKeyRotation(s)
	serving, deciding := append(s.api.Counters(), s.defaults), []storage.ChangeHandler{s.delivery, s.summary,
		s.progress, s.collect, s.upsync, s.sessions, s.gc, s.tokens, s.policies, s.sets, rotations}
	if s.entry != nil {
		deciding = append(deciding, s.entry)
	}
	start("port", s.port.Run)
	if s.replicas != nil {
		start("replicas", s.replicas.Run)
	}
	start("kube API", s.api.Run)
	if s.scrape != nil {
		start("metrics", func(ctx context.Context) error {
			return s.scrape.Run(ctx,
				s.metrics.Handler(apiserver.Gatherer()))
		})
	}
	if started(s.api.Ready()) {
		s.starting.on("the spaces to be known")
		start("spaces", s.spaces.Run)
		if started(s.spaces.Ready()) {
			start("memory", s.pacing.run)
			start("kubeconfig", s.renewKubeconfig)
			start("namespace defaults", s.defaults.Run)
			if s.lead != nil {
				start("changes beside the leader", func(ctx context.Context) error {
					return s.api.Changes(ctx, &fanOut{to: serving, first: make(chan struct{})})
				})
				s.starting.on("this replica to lead, or to stand by")
				if err := s.standBy(ctx, start); err != nil {
					cancel(err)
				}
			} else {
				deciding = append(serving, deciding...)
			}
			if ctx.Err() == nil {
				s.starting.on("all that is stored to be read and placed")
				start("changes", func(ctx context.Context) error {
					return s.api.Changes(ctx,
						&fanOut{to: deciding, first: caughtUp})
				})
			}
		}
	}
	if started(caughtUp) {
		s.starting.on("the stored reports of sites to be read")
		s.reports.Replay(func(target string) bool { return s.delivery.Feed(target) != nil })
		start("delivery", s.delivery.Run)
		start("reports", s.reports.Run)
		start("summary", s.summary.Run)
		start("progress", s.progress.Run)
		start("collect", s.collect.Run)
		start("upsync", s.upsync.Run)
		start("garbage collector", s.gc.Run)
		start("token secrets", s.tokens.Run)
		start("policies of root", s.policies.Run)
		start("sets of spaces", s.sets.Run)
		start("encryption", rotations.Run)
		start("sessions", s.sessions.Run)
		if s.entry != nil {
			start("ingress", s.entry.Run)
		}
		if s.backups != nil {
			start("backups", s.backups.Run)
		}
		s.open.Store(true)
		s.beReady()
	}
	<-ctx.Done()
	s.starting.end()
	parts.Wait()
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return cause
	}
	return nil
}
