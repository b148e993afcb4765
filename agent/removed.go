package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/enroll"
)

// What a person is told when the parent has removed this site.
const letGo = "what runs here stays as it is, and is not kept in order any more. To join again " +
	"start the agent with a new --token-file; " +
	"else stop its service and delete its data directory. At the cluster the namespace " +
	"skerry-spaces and the ClusterRoles of agent and spaces stay; where no other center uses it: " +
	"skerry agent rbac | kubectl delete -f -"

// admit refuses to start a site that its parent has removed, until it is given a new token.
func (a *agent) admit() error {
	at := a.identity.removedAt()
	if at.IsZero() || a.Token != "" && !enroll.JoinedWith(a.DataDir, a.Token) {
		return nil
	}
	return fmt.Errorf("%w: %w (%s); %s", ErrRefused, tunnel.ErrRemoved, at.UTC().Format(time.RFC3339), letGo)
}

// over decides what the end of the uplink means. A removed site ends, so that it does not revert
// what people change. A relay continues, because its own sites still need it.
func (a *agent) over(ctx context.Context, err error) error {
	if refused := tunnel.FinalRefusal(err); refused != nil {
		if a.Config.Relay {
			a.Log.Error("the parent does not have this relay; its own sites go on", "err", refused)
			<-ctx.Done()
			return nil
		}
		return fmt.Errorf("%w: %w", ErrRefused, refused)
	}
	if !errors.Is(err, tunnel.ErrRemoved) {
		return err
	}
	if a.Config.Relay {
		a.Log.Error(
			"the parent has removed this relay; its own sites go on. To join again start it with a new --token-file",
			"err",
			err,
		)
		<-ctx.Done()
		return nil
	}
	a.identity.removed(time.Now())
	return fmt.Errorf("%w: %w; %s", ErrRefused, err, letGo)
}
