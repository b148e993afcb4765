// Package site is the gate in front of apply: what the owner of this cluster lets the spaces of a
// center have here.
//
// policy judges an object by itself. The gate adds what has to be looked up: whose a namespace is
// and what is in it, who has a host name, which classes and definitions the cluster has, and what
// else the space has here. It writes only what gives a space the rights that it may have.
//
//	g := site.New(site.Config{Desired: copy, Inventory: inventory, Clients: clients, Log: log})
//	o := &site.Object{Entry: e, Head: &head, Client: client, At: at}
//	if err := g.Permit(ctx, o); err != nil {
//		return err // often a *policy.Refusal, which says what the owner can do
//	}
//	write(o.Body)
//
// A gate without Rules, as a relay's, lets everything pass: the sites below it decide.
//
// Lock order: Accounts.making, then the locks of the inventory and of the clients.
package site
