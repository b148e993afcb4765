package agent

import (
	"cmp"
	"context"
	"net/netip"
	"sync"

	"github.com/urfave/cli/v2"

	"skerry.dev/skerry/agent/gateway"
	"skerry.dev/skerry/agent/services"
	"skerry.dev/skerry/agent/uplink"
	"skerry.dev/skerry/store"
)

// Upward opens streams to the parent of a site or a relay.
type Upward = uplink.Upward

// NewUpward returns one that opens nothing before it is given to Run.
func NewUpward() *Upward { return uplink.NewUpward() }

// openGateway makes the gateway of the site's pods.
func (a *agent) openGateway() (err error) {
	if a.Upward == nil {
		a.Upward = NewUpward()
	}
	if a.Config.Relay {
		return nil
	}
	a.gatewayMetrics, a.servicesMetrics = gateway.NewMetrics(), services.NewMetrics()
	a.gateway, err = gateway.New(gateway.Config{
		Dir: a.DataDir, Address: cmp.Or(a.GatewayAddress, gateway.Off), Clients: a.clients,
		As: a.applier.Gate.Accounts.Acting, Inventory: a.inventory, Up: a.Upward, Owner: a.owner,
		Metrics: a.gatewayMetrics, Log: a.Log.With("part", "gateway"),
	})
	a.applier.PodAPI = a.gateway
	if err != nil {
		return err
	}
	a.pods = podsOfSite(a)
	c := services.Config{
		Dir: a.DataDir, Clients: a.clients, Inventory: a.inventory, Up: a.Upward, Metrics: a.servicesMetrics,
		Here:  a.pods.Answer,
		Again: func(k store.Key) { a.applier.Again([]store.Key{k}) }, Log: a.Log.With("part", "services"),
	}
	if cmp.Or(a.GatewayAddress, gateway.Off) != gateway.Off {
		c.Address = func(ctx context.Context) (netip.Addr, error) {
			return gateway.HostOf(ctx, a.GatewayAddress, a.clients)
		}
	}
	a.services = services.New(c)
	a.pods.Idle, a.pods.Call = a.services.Idle, services.CallOf(a.services)
	if c.Address != nil {
		a.applier.Reaches, a.applier.Callers = a.services.Need, a.services
	}
	return nil
}

// runGateway runs the gateway of a site, and the names that lead to other sites. One that is switched off ends
// at once, and nothing with it.
func (a *agent) runGateway(ctx context.Context, fail context.CancelCauseFunc) {
	var names sync.WaitGroup
	defer names.Wait()
	if a.services != nil {
		names.Go(func() {
			if err := a.services.Run(ctx); err != nil {
				fail(err)
			}
		})
	}
	if err := a.gateway.Run(ctx); err != nil {
		fail(err)
	}
}

const gatewayFlag = "gateway-address"

func gatewayAddressFlag() cli.Flag {
	return &cli.StringFlag{Name: gatewayFlag, Value: gateway.Auto,
		EnvVars: []string{"SKERRY_GATEWAY_ADDRESS"},
		Usage: "IP:PORT by which this site's pods reach the agent for the APIs of their spaces; :PORT has the IP " +
			"found; auto finds both; off has workloads refused whose pods need it"}
}

// GatewayAddressOf reads the flag. What it may not be is an error that usage makes.
func GatewayAddressOf(c *cli.Context, usage func(format string, args ...any) error) (string, error) {
	address := cmp.Or(c.String(gatewayFlag), gateway.Auto)
	if err := gateway.CheckAddress(address); err != nil {
		return "", usage("--%s %s", gatewayFlag, err)
	}
	return address, nil
}
