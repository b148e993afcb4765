package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"
	logsapi "k8s.io/component-base/logs/api/v1"

	"skerry.dev/skerry/testenv/wec/provisioner"
)

// serverConfig is the file that "wec server" reads: one cluster's control
// plane. Paths are relative to the working directory.
type serverConfig struct {
	// Store is kine's data source, "memory://" or "sqlite://FILE?...".
	Store string `json:"store"`
	// StoreSocket is the unix socket between kine and the API server.
	StoreSocket string `json:"storeSocket"`
	// Kubeconfig is an administrator's, for this process itself.
	Kubeconfig string `json:"kubeconfig"`
	// APIServer, ControllerManager and Scheduler are the components' flags.
	APIServer         []string `json:"apiServer"`
	ControllerManager []string `json:"controllerManager"`
	Scheduler         []string `json:"scheduler"`
	// Volumes is the directory below which volumes are provisioned.
	Volumes string `json:"volumes"`
	// Kwok are the options of kwok's configuration; absent means no kwok.
	Kwok json.RawMessage `json:"kwok,omitempty"`
}

func runServer() int {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: wec server FILE")
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := serve(ctx, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "wec server:", err)
		return 1
	}
	return 0
}

// serve runs the control plane until ctx ends or one of its parts fails. The
// API server starts before everything that is its client.
func serve(ctx context.Context, file string) error {
	cfg, err := readConfig(file)
	if err != nil {
		return err
	}
	// Two components in one process configure klog twice, with equal settings.
	logsapi.ReapplyHandling = logsapi.ReapplyHandlingIgnoreUnchanged
	rest.SetDefaultWarningHandler(rest.NoWarnings{})
	// A panic in one controller must be seen, not hidden by the others.
	runtime.ReallyCrash = true

	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if err := listenStore(ctx, cfg); err != nil {
		return fmt.Errorf("start store: %w", err)
	}
	group := &group{ctx: ctx, cancel: cancel}
	if err := group.start("kube-apiserver", apiServer, cfg); err != nil {
		return err
	}
	began := time.Now()
	client, err := waitReady(ctx, cfg.Kubeconfig)
	if err != nil {
		return errors.Join(err, context.Cause(ctx))
	}
	slog.Info("API server ready", "after", time.Since(began))
	parts := []struct {
		name    string
		prepare prepare
	}{
		{"kube-controller-manager", controllerManager},
		{"kube-scheduler", scheduler},
		{"kwok", kwok},
	}
	for _, p := range parts {
		if err := group.start(p.name, p.prepare, cfg); err != nil {
			return err
		}
	}
	group.run("provisioner", func(ctx context.Context) error {
		return provisioner.New(client, cfg.Volumes).Run(ctx)
	})
	slog.Info("control plane started")
	group.wait()
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

func readConfig(file string) (*serverConfig, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	cfg := &serverConfig{}
	if err := json.Unmarshal(data, cfg); err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	return cfg, nil
}

// prepare parses a component's flags and returns what runs it; nil means that
// the configuration does not ask for it.
type prepare func(context.Context, *serverConfig) (func(context.Context) error, error)

// group runs the parts of one control plane: when one ends, all end.
type group struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	parts  sync.WaitGroup
}

func (g *group) start(name string, prepare prepare, cfg *serverConfig) error {
	run, err := prepare(g.ctx, cfg)
	if err != nil {
		return fmt.Errorf("configure %s: %w", name, err)
	}
	if run != nil {
		g.run(name, run)
	}
	return nil
}

func (g *group) run(name string, run func(context.Context) error) {
	g.parts.Go(func() {
		err := run(g.ctx)
		if err == nil {
			err = errors.New("ended")
		}
		if g.ctx.Err() == nil {
			g.cancel(fmt.Errorf("%s: %w", name, err))
		}
	})
}

// wait returns when every part has ended, or two seconds after the end began:
// the store is in this process, so a part may wait for it in vain.
func (g *group) wait() {
	<-g.ctx.Done()
	ended := make(chan struct{})
	go func() { g.parts.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(2 * time.Second):
	}
}
