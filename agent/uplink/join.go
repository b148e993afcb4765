package uplink

import (
	"context"
	"errors"
	"fmt"
	"time"

	"skerry.dev/skerry/tunnel/enroll"
	"skerry.dev/skerry/tunnel/netreason"
	"skerry.dev/skerry/tunnel/ondemand"
)

// join loads the credentials of this site. Without any it joins, and retries as long as the parent
// cannot be reached.
func (u *uplink) join(ctx context.Context) error {
	credentials, err := enroll.Load(u.Dir, u.Clock)
	switch {
	case err == nil:
		u.joinAgain = u.Token != "" && !enroll.JoinedWith(u.Dir, u.Token)
		u.useCredentials(credentials)
		return nil
	case !errors.Is(err, enroll.ErrNotEnrolled):
		return fmt.Errorf("load credentials: %w", err)
	case u.Token == "":
		return fmt.Errorf("%w: %w", ErrRefused, enroll.ErrNotEnrolled)
	}
	for failures := 1; ; failures++ {
		err := u.redeem(ctx)
		switch {
		case err == nil || ctx.Err() != nil:
			return nil
		case enroll.Refused(err):
			return fmt.Errorf("%w: %w", ErrRefused, err)
		}
		wait := fullJitter(failures, longestWait)
		u.cannotJoin(err, wait)
		ondemand.Pause(ctx, wait)
	}
}

// cannotJoin logs why the site has not joined, each reason now and then.
func (u *uplink) cannotJoin(err error, wait time.Duration) {
	why, network := netreason.Of(err)
	if !network || len(u.parents) > 1 || u.Proxy.Uses(u.parents[0].hostPort) { // err says whom
		why = err.Error()
	}
	if text, ok := u.explained.allow(errors.New(why), time.Now()); ok {
		seconds := max(1, int(wait.Round(time.Second).Seconds()))
		u.Log.Warn(fmt.Sprintf("cannot join: %s; retrying in %d s", text, seconds), "parent", u.Parents)
	}
}

// rejoin uses a token that was given to a site which has joined before. The parent has removed or
// revoked the site since, or has other authorities now. Until it succeeds the site goes on with
// what it has.
func (u *uplink) rejoin(ctx context.Context) {
	if !u.joinAgain {
		return
	}
	err := u.redeem(ctx)
	switch {
	case err == nil:
		u.joinAgain = false
	case ctx.Err() != nil:
	case enroll.Refused(err):
		u.joinAgain = false
		u.Log.Error(
			"joining again with the new token was refused; the site goes on with the credentials that it has",
			"parent",
			u.Parents,
			"err",
			err,
		)
	default:
		u.Log.Debug("joining again with the new token has to wait", "parent", u.Parents, "err", err)
	}
}

// redeem joins with the token, at the first address of the parent that answers.
func (u *uplink) redeem(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, joinLimit)
	defer cancel()
	hello := u.Hello(ctx)
	behind := enroll.Behind{Cluster: hello.Cluster, Force: hello.Force, Center: hello.Center}
	var errs []error
	for i, p := range u.parents {
		share, done := context.WithTimeout(ctx, joinLimit/time.Duration(len(u.parents)-i))
		credentials, err := enroll.Join(share, enroll.JoinConfig{
			Dir: u.Dir, Parent: p.url, Token: u.Token, Name: u.Name, Labels: u.Labels, Behind: behind, Clock: u.Clock,
			Dial: u.Proxy.DialContext, Log: u.Log,
		})
		done()
		if err == nil {
			u.Log.Info("joined",
				"parent", p.url, "name", credentials.Name(),
				"certificateUntil", credentials.NotAfter())
			u.useCredentials(credentials)
			return nil
		}
		if errs = append(errs, err); enroll.Refused(err) {
			break
		}
	}
	return errors.Join(errs...)
}

func (u *uplink) useCredentials(credentials *enroll.Credentials) {
	if credentials.Name() != u.Name && u.Name != "" {
		u.Log.Warn("this site joined under another name, which stays", "name", credentials.Name(), "ignored", u.Name)
	}
	u.credentials = credentials
	if u.Named != nil {
		u.Named(credentials.Name())
	}
}
