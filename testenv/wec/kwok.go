package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"
	nodefast "sigs.k8s.io/kwok/kustomize/stage/node/fast"
	heartbeat "sigs.k8s.io/kwok/kustomize/stage/node/heartbeat-with-lease"
	podfast "sigs.k8s.io/kwok/kustomize/stage/pod/fast"
	"sigs.k8s.io/kwok/pkg/config"
	kwokcmd "sigs.k8s.io/kwok/pkg/kwok/cmd"
	"sigs.k8s.io/kwok/pkg/log"
)

// kwokConfigFile is written to the working directory.
const kwokConfigFile = "kwok.yaml"

// kwok plays the nodes and pods of a simulated cluster. Its library has no
// default stages and no default parallelism (zero workers do nothing), so the
// file names the stages and cfg.Kwok the rest.
func kwok(ctx context.Context, cfg *serverConfig) (func(context.Context) error, error) {
	if len(cfg.Kwok) == 0 {
		return nil, nil
	}
	documents := []string{
		fmt.Sprintf(`{"apiVersion": "config.kwok.x-k8s.io/v1alpha1", "kind": "KwokConfiguration", "options": %s}`, cfg.Kwok),
		nodefast.DefaultNodeInit,
		heartbeat.DefaultNodeHeartbeatWithLease,
		podfast.DefaultPodReady,
		podfast.DefaultPodComplete,
		podfast.DefaultPodDelete,
	}
	if err := os.WriteFile(kwokConfigFile, []byte(strings.Join(documents, "\n---\n")), 0o600); err != nil {
		return nil, err
	}
	// kwok's flags come from os.Args, which this process no longer needs.
	os.Args = []string{"kwok", "--config", kwokConfigFile}
	global := pflag.NewFlagSet("global", pflag.ContinueOnError)
	global.ParseErrorsAllowlist.UnknownFlags = true
	ctx, _ = log.InitFlags(ctx, global)
	ctx, err := config.InitFlags(ctx, global)
	if err != nil {
		return nil, err
	}
	cmd := kwokcmd.NewCommand(ctx)
	// With a version, cobra adds a flag -v that the log level already has.
	cmd.Version = ""
	cmd.PersistentFlags().AddFlagSet(global)
	cmd.SetArgs([]string{"--config", kwokConfigFile, "--kubeconfig", cfg.Kubeconfig})
	return func(context.Context) error { return cmd.ExecuteContext(ctx) }, nil
}
