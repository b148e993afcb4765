package parent

import (
	"context"
	"errors"
	"strings"
	"time"

	"skerry.dev/skerry/tunnel/doctor"
	"skerry.dev/skerry/tunnel/enroll"
)

func one(f doctor.Finding) []doctor.Finding { return []doctor.Finding{f} }

// identify asks who answers. What has no token and has not joined cannot prove it.
func (w *way) identify(ctx context.Context) []doctor.Finding {
	var err error
	began := time.Now()
	switch {
	case w.Credentials != nil:
		w.theirs, err = w.Credentials.ParentTime(ctx, w.through(w.at), w.at.url)
	case w.TokenErr != nil:
		return one(tokenInvalid.Fails("%s", w.TokenErr))
	case w.Token != "":
		w.theirs, err = enroll.PinnedTime(ctx, w.through(w.at), w.at.url, w.Token)
	case enroll.IsCenter(ctx, w.through(w.at), w.at.url):
		return one(doctor.Good("a center answers at %s; --token-file proves that it is the right one", w.at.hostPort))
	default:
		return one(noCenter.Fails("nothing at %s answers as a center does", w.at.hostPort))
	}
	w.here = time.Now()
	switch {
	case err == nil:
		return one(doctor.Good("the center at %s is the right one", w.at.hostPort))
	case !errors.Is(err, enroll.ErrWrongCA) && w.hole():
		return one(mtuHole.Fails("%s; TLS over TCP does not get through either", w.sizes()))
	case !errors.Is(err, enroll.ErrWrongCA) && (timedOut(err) || time.Since(began) > stallTime):
		return one(tlsStalls.Fails("TCP connects to %s, and the TLS handshake does not end", w.at.hostPort))
	case !errors.Is(err, enroll.ErrWrongCA):
		return one(noCenter.Fails("%s: %s", w.at.hostPort, err))
	case !enroll.IsCenter(ctx, w.through(w.at), w.at.url):
		return one(wrongCA.Fails("the certificate of %s is of another authority, and no center answers there",
			w.at.hostPort))
	case w.Credentials != nil:
		return one(centerReplaced.Fails("the center at %s has another certificate authority than the one that %s joined",
			w.at.hostPort, w.Credentials.Name()))
	default:
		return one(tokenOtherCenter.Fails("the center at %s has another certificate authority than the token pins",
			w.at.hostPort))
	}
}

// stallTime is how long a handshake takes that does not get through. A center gives up after 10 s
// itself, and its end is an EOF here.
const stallTime = 5 * time.Second

func timedOut(err error) bool {
	var timeout interface{ Timeout() bool }
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout()
}

func (w *way) compareClocks(context.Context) []doctor.Finding {
	if w.theirs.IsZero() {
		return one(doctor.Skip("the parent's time is not known"))
	}
	offset := w.here.Sub(w.theirs).Round(time.Second)
	if w.OnClock != nil {
		w.OnClock(offset)
	}
	if offset.Abs() <= enroll.MaxClockOffset {
		return one(doctor.Good("%s apart", offset.Abs()))
	}
	way := "ahead of"
	if offset < 0 {
		way = "behind"
	}
	return one(clockOff.Fails("this machine's clock is %s %s the parent's: %s here, %s there", offset.Abs(), way,
		w.here.UTC().Format(time.RFC3339), w.theirs.UTC().Format(time.RFC3339)))
}

// refusals are the faults behind the center's words.
var refusals = []struct {
	err   error
	fault doctor.Fault
}{
	{enroll.ErrTokenUnknown, tokenUnknown}, {enroll.ErrTokenUsed, tokenUsed}, {enroll.ErrTokenExpired, tokenExpired},
	{enroll.ErrName, nameRefused}, {enroll.ErrNameInUse, nameInUse}, {enroll.ErrLabels, labelsRefused},
	{enroll.ErrRevoked, revoked}, {enroll.ErrUnknownSite, unknownSite}, {enroll.ErrEnded, centerExpired},
	{enroll.ErrClock, clockOff},
}

// examine asks the center whether it lets the site in.
func (w *way) examine(ctx context.Context) []doctor.Finding {
	var err error
	who, name := "the site", w.Name
	switch {
	case w.Credentials != nil:
		name = w.Credentials.Name()
		w.center, err = w.Credentials.Examine(ctx, w.through(w.at), w.at.url)
	case w.Token == "":
		return one(tokenMissing.Fails("the site has not joined, and no token file was given, or it is not there"))
	default:
		token, _ := enroll.ParseToken(w.Token) // identify has read it
		who = "the token " + token.ID
		w.center, err = enroll.Examine(ctx, enroll.JoinConfig{Dir: w.Dir, Parent: w.at.url, Token: w.Token,
			Name: w.Name, Labels: w.Labels, Dial: w.through(w.at)})
	}
	if err == nil {
		return one(doctor.Good("the center lets %s in as %s", who, name))
	}
	for _, r := range refusals {
		if errors.Is(err, r.err) {
			return one(r.fault.Fails("the center refuses %s as %s: %s", who, name, cause(err, r.err)))
		}
	}
	return one(doctor.Skip("the center did not say whether it lets the site in: %s", err))
}

// certificate needs no parent to be judged. It stands behind the checks of the way, because a
// certificate expires where the agent is not connected for long, and that is the cause.
func (w *way) certificate(context.Context) []doctor.Finding {
	if w.Credentials == nil {
		return one(doctor.Skip("the site has not joined"))
	}
	now := w.theirs
	if now.IsZero() {
		now = time.Now()
	}
	until := w.Credentials.NotAfter().UTC().Format(time.RFC3339)
	if now.After(w.Credentials.NotAfter()) {
		return one(certificateExpired.Fails("the certificate of %s was valid until %s", w.Credentials.Name(), until))
	}
	return one(doctor.Good("valid until %s", until))
}

// cause is what the center said, without the advice of the error: the finding has its own.
func cause(err, kind error) string {
	text := err.Error()
	if detail, ok := strings.CutPrefix(text, kind.Error()+": "); ok {
		return detail
	}
	text, _, _ = strings.Cut(text, ";")
	return text
}
