package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"skerry.dev/skerry/testenv/cluster"
	"skerry.dev/skerry/testenv/fault"
	"skerry.dev/skerry/testenv/netns"
	"skerry.dev/skerry/testenv/process"
)

func netCommand() *cli.Command {
	return &cli.Command{
		Name:  "net",
		Usage: "networks with faults: hosts behind a router",
		Subcommands: append([]*cli.Command{
			{Name: "up", Usage: "make a network", ArgsUsage: "NAME HOST...", Action: netUp},
			{Name: "down", Usage: "remove a network with all that runs in it", ArgsUsage: "NAME", Action: netDown},
			{
				Name:   "list",
				Usage:  "list hosts, addresses and faults",
				Flags:  []cli.Flag{&cli.StringFlag{Name: "o", Usage: "output `FORMAT`: json, or a table"}},
				Action: netList,
			},
			{
				Name:      "address",
				Usage:     "print the address of a host",
				ArgsUsage: "NAME HOST",
				Flags:     []cli.Flag{&cli.BoolFlag{Name: "uplink", Usage: "the one where this machine reaches it"}},
				Action:    netAddress,
			},
			{Name: "exec", Usage: "become a command that runs in a host",
				ArgsUsage: "NAME HOST -- COMMAND [ARGUMENT...]", Action: netExec},
		}, faultCommands()...),
	}
}

func netUp(c *cli.Context) error {
	if c.NArg() < 2 {
		return errors.New("want a name and hosts: testenv net up NAME HOST [HOST...]")
	}
	_, nets, err := open()
	if err != nil {
		return err
	}
	n, err := nets.Up(c.Context, c.Args().First(), c.Args().Tail())
	if err != nil {
		return err
	}
	return printHosts([]*fault.Net{n})
}

func netDown(c *cli.Context) error {
	name, err := oneName(c)
	if err != nil {
		return err
	}
	state, nets, err := open()
	if err != nil {
		return err
	}
	clusters, err := state.List()
	if err != nil {
		return err
	}
	for _, one := range clusters {
		if one.Place != nil && strings.HasPrefix(one.Place.Host, name+"/") {
			return fmt.Errorf("cluster %s runs in %s: take it down first with: testenv down %s", one.Name,
				one.Place.Host, one.Name)
		}
	}
	return nets.Down(c.Context, name)
}

func netList(c *cli.Context) error {
	_, nets, err := open()
	if err != nil {
		return err
	}
	all, err := nets.List()
	if err != nil {
		return err
	}
	switch format := c.String("o"); format {
	case "json":
		return json.NewEncoder(os.Stdout).Encode(append([]*fault.Net{}, all...))
	case "":
		return printHosts(all)
	default:
		return fmt.Errorf("-o %s: want json", format)
	}
}

func printHosts(nets []*fault.Net) error {
	t := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "NET\tHOST\tADDRESS\tUPLINK\tNETNS")
	for _, n := range nets {
		for _, h := range n.Hosts {
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", n.Name, h.Name, h.Address, h.Uplink, h.NetNS)
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, n := range nets {
		for _, h := range n.Hosts {
			if h.Down {
				fmt.Printf("%s: %s: link down\n", n.Name, h.Name)
			}
		}
		for _, rule := range n.Rules {
			fmt.Printf("%s: %s\n", n.Name, rule)
		}
	}
	return nil
}

func netAddress(c *cli.Context) error {
	h, err := hostOf(c)
	if err != nil {
		return err
	}
	if c.Bool("uplink") {
		fmt.Println(h.Uplink)
	} else {
		fmt.Println(h.Address)
	}
	return nil
}

// netExec keeps its process id, so that who started it can end the command.
func netExec(c *cli.Context) error {
	argv := c.Args().Slice()
	if len(argv) > 2 && argv[2] == "--" {
		argv = append(argv[:2:2], argv[3:]...)
	}
	if len(argv) < 3 {
		return errors.New("want testenv net exec NAME HOST -- COMMAND [ARGUMENT...]")
	}
	h, err := hostOf(c)
	if err != nil {
		return err
	}
	return process.Become(netns.File(h.NetNS), argv[2:])
}

func hostOf(c *cli.Context) (*fault.Host, error) {
	if c.NArg() < 2 {
		return nil, fmt.Errorf("want testenv net %s %s", c.Command.Name, c.Command.ArgsUsage)
	}
	_, nets, err := open()
	if err != nil {
		return nil, err
	}
	n, err := nets.Get(c.Args().Get(0))
	if err != nil {
		return nil, err
	}
	return n.Host(c.Args().Get(1))
}

// placeFor returns the place that NET/HOST names, nil for "".
func placeFor(state cluster.State, host string) (*cluster.Place, error) {
	if host == "" {
		return nil, nil
	}
	net, name, ok := strings.Cut(host, "/")
	if !ok {
		return nil, fmt.Errorf("--host %s: want NET/HOST", host)
	}
	nets, err := fault.Open(state.Dir())
	if err != nil {
		return nil, err
	}
	n, err := nets.Get(net)
	if err != nil {
		return nil, err
	}
	h, err := n.Host(name)
	if err != nil {
		return nil, err
	}
	return &cluster.Place{Host: host, NetNS: h.NetNS, Address: h.Uplink.String(),
		Others: []string{h.Address.String()}}, nil
}

func open() (cluster.State, fault.Nets, error) {
	state, err := cluster.OpenState()
	if err != nil {
		return cluster.State{}, fault.Nets{}, err
	}
	nets, err := fault.Open(state.Dir())
	return state, nets, err
}

func downNets(ctx context.Context, state cluster.State) error {
	nets, err := fault.Open(state.Dir())
	if err != nil {
		return err
	}
	all, err := nets.List()
	if err != nil {
		return err
	}
	var errs []error
	for _, n := range all {
		errs = append(errs, nets.Down(ctx, n.Name))
	}
	return errors.Join(errs...)
}
