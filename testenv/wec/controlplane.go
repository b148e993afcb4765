package main

import (
	"context"
	"errors"

	"github.com/spf13/pflag"
	cliflag "k8s.io/component-base/cli/flag"
	kubeapiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	apiserveroptions "k8s.io/kubernetes/cmd/kube-apiserver/app/options"
	kubecontrollermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	controlleroptions "k8s.io/kubernetes/cmd/kube-controller-manager/app/options"
	kubescheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	scheduleroptions "k8s.io/kubernetes/cmd/kube-scheduler/app/options"
)

func apiServer(ctx context.Context, cfg *serverConfig) (func(context.Context) error, error) {
	opts := apiserveroptions.NewServerRunOptions()
	if err := parse(opts.Flags(), cfg.APIServer); err != nil {
		return nil, err
	}
	// Emulated versions and feature gates take effect here.
	if err := opts.GenericServerRunOptions.ComponentGlobalsRegistry.Set(); err != nil {
		return nil, err
	}
	completed, err := opts.Complete(ctx)
	if err != nil {
		return nil, err
	}
	if errs := completed.Validate(); len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return func(ctx context.Context) error { return kubeapiserver.Run(ctx, completed) }, nil
}

func controllerManager(ctx context.Context, cfg *serverConfig) (func(context.Context) error, error) {
	opts, err := controlleroptions.NewKubeControllerManagerOptions()
	if err != nil {
		return nil, err
	}
	known := kubecontrollermanager.KnownControllers()
	disabled := kubecontrollermanager.ControllersDisabledByDefault()
	aliases := kubecontrollermanager.ControllerAliases()
	flags := opts.Flags(known, disabled, aliases)
	opts.ParsedFlags = &flags
	if err := parse(flags, cfg.ControllerManager); err != nil {
		return nil, err
	}
	config, err := opts.Config(ctx, known, disabled, aliases)
	if err != nil {
		return nil, err
	}
	completed := config.Complete()
	return func(ctx context.Context) error { return kubecontrollermanager.Run(ctx, completed) }, nil
}

func scheduler(ctx context.Context, cfg *serverConfig) (func(context.Context) error, error) {
	opts := scheduleroptions.NewOptions()
	if err := parse(*opts.Flags, cfg.Scheduler); err != nil {
		return nil, err
	}
	completed, sched, err := kubescheduler.Setup(ctx, opts)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error { return kubescheduler.Run(ctx, completed, sched) }, nil
}

func parse(sets cliflag.NamedFlagSets, args []string) error {
	all := pflag.NewFlagSet("", pflag.ContinueOnError)
	for _, fs := range sets.FlagSets {
		all.AddFlagSet(fs)
	}
	return all.Parse(args)
}
