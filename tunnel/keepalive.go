package tunnel

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

const (
	// retryRenewal is how long a child waits after a failed renewal.
	retryRenewal = time.Hour
	// calmRenewal is the least time between two renewals, whatever the clock says.
	calmRenewal = time.Minute
	// spreadRenewal is the time over which children spread when all are asked to renew at once.
	spreadRenewal = 5 * time.Second
	// waitingInterval is how often a child reports how many bytes wait to go up, if that has
	// changed.
	waitingInterval = 20 * time.Second
)

// fillBytes is the size of a frame that must be answered at once. A restarted parent does not
// answer a smaller packet, because that could itself be a stateless reset (RFC 9000, 10.3).
const fillBytes = 24

// asker is a Conn that sends heartbeats beside what it carries. It tells when something must cross
// within the connection.
type asker interface{ Asks() <-chan struct{} }

// keepAlive renews the credentials, reports what waits, and asks for heartbeats.
func (c *child) keepAlive(ctx context.Context) error {
	renew := time.NewTimer(0)
	defer renew.Stop()
	renew.Stop() // it runs from the welcome on
	look, waiting := time.NewTicker(waitingInterval), int64(0)
	defer look.Stop()
	var asks <-chan struct{}
	if a, ok := c.conn.(asker); ok {
		asks = a.Asks()
	}
	for {
		var err error
		select {
		case <-look.C:
			if now := c.terms.Waiting(); now != waiting {
				waiting, err = now, c.control.sendBytes(typeWaiting, waitingPayload(now))
			}
		case <-c.Probe:
			if p, ok := c.conn.(pinger); ok {
				err = p.Ping()
			} else {
				waiting = c.terms.Waiting()
				err = c.control.sendBytes(typeWaiting, waitingPayload(waiting))
			}
		case <-asks:
			waiting = c.terms.Waiting()
			payload := waitingPayload(waiting)
			err = c.control.sendBytes(typeWaiting, append(payload, make([]byte, fillBytes-len(payload))...))
		case w := <-c.welcomed:
			if w.RenewOnly {
				return c.renewExpired(ctx)
			}
			if c.Renewal != nil {
				renew.Reset(c.Renewal.Wait())
			}
		case b := <-c.bundles:
			if err = c.trust(b); err == nil && b.Renew && c.Renewal != nil {
				renew.Reset(rand.N(spreadRenewal))
			}
		case <-renew.C:
			renew.Reset(c.renewNow(ctx))
		case <-ctx.Done():
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// renewExpired renews over a session that exists for nothing else.
func (c *child) renewExpired(ctx context.Context) error {
	if err := c.renew(ctx); err != nil {
		return fmt.Errorf("the certificate has expired and cannot be renewed: %w", err)
	}
	return ErrRenewed
}

// renewNow renews once. It returns how long to wait until the next renewal.
func (c *child) renewNow(ctx context.Context) time.Duration {
	if err := c.renew(ctx); err != nil {
		if ctx.Err() == nil {
			c.Log.Warn("the certificate could not be renewed", "err", err, "again", retryRenewal)
		}
		return retryRenewal
	}
	return max(calmRenewal, c.Renewal.Wait())
}

func (c *child) renew(ctx context.Context) error {
	if c.Renewal == nil {
		return errors.New("this child does not know how")
	}
	err := c.tryRenew(ctx)
	if ctx.Err() == nil {
		c.Renewal.tried(err)
	}
	return err
}

func (c *child) tryRenew(ctx context.Context) error {
	csr, err := c.Renewal.CSR()
	if err != nil {
		return err
	}
	if err := c.control.send(typeRequest, csr); err != nil {
		return err
	}
	select {
	case answer := <-c.answers:
		if answer.Error != "" {
			return errors.New(answer.Error)
		}
		if err := c.Renewal.Install(answer.Chain, answer.Bundle); err != nil {
			return err
		}
		c.Log.Info("certificate renewed")
		return c.sendCredentialStatus()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// trust carries a Bundle out. One that cannot be used is refused loudly and changes nothing; the
// session goes on.
func (c *child) trust(b Bundle) error {
	if c.Renewal == nil || c.Renewal.Trust == nil {
		return nil
	}
	if err := c.Renewal.Trust(b.PEM); err != nil {
		c.Log.Error("the authorities that the parent sent are not taken over", "err", err)
		return nil
	}
	return c.sendCredentialStatus()
}

func (c *child) sendCredentialStatus() error {
	if c.Renewal.Status == nil {
		return nil
	}
	return c.control.send(typeHolds, c.Renewal.Status())
}
