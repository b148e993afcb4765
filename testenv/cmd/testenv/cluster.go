package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"skerry.dev/skerry/testenv/artifact"
	"skerry.dev/skerry/testenv/cluster"
)

// named opens the state directory for a command whose only argument is the name of a cluster.
func named(c *cli.Context) (state cluster.State, name string, err error) {
	if name, err = oneName(c); err != nil {
		return state, "", err
	}
	state, err = cluster.OpenState()
	return state, name, err
}

func upCommand() *cli.Command {
	return &cli.Command{
		Name:      "up",
		Usage:     "start a cluster; the last line of its output is the path of the kubeconfig",
		ArgsUsage: "--kind real|simulated NAME",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "kind", Value: string(cluster.Simulated),
				Usage: "`KIND`: real (needs root; pods run) or simulated"},
			&cli.BoolFlag{Name: "persist", Usage: "keep the objects in a file that survives a restart"},
			&cli.StringFlag{Name: "host", Usage: "run it in a host of a network: `NET/HOST`"},
			&cli.IntFlag{Name: "nodes", Value: 1, Usage: "`NUMBER` of nodes of a simulated cluster"},
		},
		Action: up,
	}
}

func up(c *cli.Context) error {
	state, name, err := named(c)
	if err != nil {
		return err
	}
	kind, err := cluster.ParseKind(c.String("kind"))
	if err != nil {
		return err
	}
	nodes := c.Int("nodes")
	if nodes < 1 || (kind == cluster.Real && nodes != 1) {
		return fmt.Errorf("--nodes %d: a simulated cluster has one or more nodes, a real one exactly one", nodes)
	}
	place, err := placeFor(state, c.String("host"))
	if err != nil {
		return err
	}
	kit, err := artifact.EnsureClusters(c.Context, os.Stderr)
	if err != nil {
		return err
	}
	started, err := state.Up(c.Context, name, cluster.Options{
		Kind:     kind,
		Place:    place,
		Persist:  c.Bool("persist"),
		Nodes:    nodes,
		Kit:      kit,
		Progress: os.Stderr,
	})
	if err != nil {
		return err
	}
	fmt.Println(started.Kubeconfig())
	return nil
}

func downCommand() *cli.Command {
	return &cli.Command{
		Name:      "down",
		Usage:     "take a cluster down and leave nothing of it",
		ArgsUsage: "NAME | --all",
		Flags: []cli.Flag{&cli.BoolFlag{
			Name:  "all",
			Usage: "take down all clusters and networks of the state directory, whoever started them",
		}},
		Action: func(c *cli.Context) error {
			if !c.Bool("all") {
				state, name, err := named(c)
				if err != nil {
					return err
				}
				return state.Down(c.Context, name)
			}
			state, err := cluster.OpenState()
			if err != nil {
				return err
			}
			all, err := state.List()
			if err != nil {
				return err
			}
			var errs []error
			for _, one := range all {
				// Whoever shares the state directory should see what happened.
				fmt.Fprintf(os.Stderr, "%s: taking down (state directory %s)\n", one.Name, state.Dir())
				errs = append(errs, state.Down(c.Context, one.Name))
			}
			return errors.Join(append(errs, downNets(c.Context, state))...)
		},
	}
}

// listed is a line of "list"; its JSON is read by scripts.
type listed struct {
	Name       string         `json:"name"`
	Kind       cluster.Kind   `json:"kind"`
	Status     cluster.Status `json:"state"`
	Address    string         `json:"address"`
	NetNS      string         `json:"netns,omitempty"`
	Kubeconfig string         `json:"kubeconfig"`
}

func listCommand() *cli.Command {
	return &cli.Command{
		Name:  "list",
		Usage: "list the clusters",
		Flags: []cli.Flag{&cli.StringFlag{Name: "o", Usage: "output `FORMAT`: json, or a table"}},
		Action: func(c *cli.Context) error {
			state, err := cluster.OpenState()
			if err != nil {
				return err
			}
			all, err := state.List()
			if err != nil {
				return err
			}
			lines := []listed{}
			for _, one := range all {
				status, err := one.Status()
				if err != nil {
					return err
				}
				lines = append(lines, listed{one.Name, one.Kind, status, one.Address, one.NetNS(), one.Kubeconfig()})
			}
			switch format := c.String("o"); format {
			case "json":
				return json.NewEncoder(os.Stdout).Encode(lines)
			case "":
				return printTable(lines)
			default:
				return fmt.Errorf("-o %s: want json", format)
			}
		},
	}
}

func printTable(lines []listed) error {
	t := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "NAME\tKIND\tSTATE\tADDRESS\tKUBECONFIG")
	for _, l := range lines {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", l.Name, l.Kind, l.Status, l.Address, l.Kubeconfig)
	}
	return t.Flush()
}

func kubeconfigCommand() *cli.Command {
	return &cli.Command{
		Name:      "kubeconfig",
		Usage:     "print the path of a cluster's kubeconfig",
		ArgsUsage: "NAME",
		Action: func(c *cli.Context) error {
			state, name, err := named(c)
			if err != nil {
				return err
			}
			one, err := state.Get(name)
			if err != nil {
				return err
			}
			fmt.Println(one.Kubeconfig())
			return nil
		},
	}
}
