package enroll

import (
	"errors"
	"fmt"
	"time"
)

// Errors that a person can do something about. Each says what.
var (
	// ErrTokenUnknown is returned when the center does not know the token, or the secret is wrong.
	ErrTokenUnknown = errors.New(
		"the center does not know this join token; make a new one there with: skerry token create",
	)
	// ErrTokenUsed is returned when the token has joined as many sites as it may, or this one under
	// another name.
	ErrTokenUsed = errors.New(
		"this join token is used up by sites that joined before; make a new one at the center with: skerry token create",
	)
	// ErrTokenExpired is returned when the token is too old.
	ErrTokenExpired = errors.New("this join token has expired; make a new one at the center with: skerry token create")
	// ErrWrongCA is returned when the server at the parent's address cannot prove to be the center
	// that the token, or the earlier enrolment, names. Nothing secret was sent to it.
	ErrWrongCA = errors.New(
		"the server at the parent's address is not the center that made the join token, or that was joined before (its CA " +
			"is another one); check --parent, and that the token was made there: a site joins a relay with a token of the " +
			"relay. Check whether something stands in between that opens TLS. If the center's CA was rotated while this " +
			"site was away: join again with a new token",
	)
	// ErrEnded is returned when the center's certificate is valid at none of the times that it may
	// be here.
	ErrEnded = errors.New(
		"the center's certificate is not valid now; check this machine's clock (timedatectl set-ntp true) and the center's",
	)
	// ErrRevoked is returned when the center has revoked the site's key. Another key and a new
	// token may join, once the name is released.
	ErrRevoked = errors.New(
		"the center has revoked this site; to let it back, at the center: skerry target release NAME; skerry token create; " +
			"then start the agent once with --token-file",
	)
	// ErrUnknownSite is returned by Examine when the center has no site of this name and key.
	ErrUnknownSite = errors.New(
		"the center does not know this site: it was removed there, or joined anew from elsewhere, or the center's data " +
			"is older than the join; to join again, at the center: skerry token create",
	)
	// ErrClock is matched by *ClockError.
	ErrClock = errors.New("the clock is wrong")
	// ErrName is returned when the center does not accept the site's name.
	ErrName = errors.New(
		"the center does not accept this name; choose another with --name (lower-case letters, digits and '-', at most 63)",
	)
	// ErrLabels is returned when the center does not accept the site's labels.
	ErrLabels = errors.New("the center does not accept the site's labels; correct them with --labels")
	// ErrNameInUse is returned when a site of this name has joined with another key: a token alone
	// does not take over a site's place.
	ErrNameInUse = errors.New(
		"a site of this name has joined the center already; choose another with --name, or, to replace that site, " +
			"let it go at the center first: skerry target release NAME",
	)
	// ErrNotHere is returned when the center cannot have what is behind the site: it knows the cluster
	// under another name, or the relay is this center.
	ErrNotHere = errors.New("the center does not take what is behind this site")
	// ErrNotEnrolled is returned by Load when the directory holds no credentials yet.
	ErrNotEnrolled = errors.New(
		"this site has not joined yet: a join token is needed once; make one at the center with skerry token create, " +
			"and name its file with --token-file",
	)
)

// MaxClockOffset is how far the clocks of a site and its center may be apart.
const MaxClockOffset = 10 * time.Minute

// ClockError says how far the site's clock is from its center's.
type ClockError struct {
	// Offset is the site's time minus the center's.
	Offset time.Duration
}

// Error says which clock is off by how much, and what to do.
func (e *ClockError) Error() string {
	way := "ahead of"
	offset := e.Offset
	if offset < 0 {
		way, offset = "behind", -offset
	}
	return fmt.Sprintf(
		"this machine's clock is %s %s the center's; set it (timedatectl set-ntp true) and start again. Nothing was changed",
		offset.Round(time.Second),
		way,
	)
}

// Is makes errors.Is(err, ErrClock) work.
func (e *ClockError) Is(target error) bool { return target == ErrClock }

// Refused reports whether the error is one that trying again does not mend.
func Refused(err error) bool {
	for _, e := range []error{ErrTokenFormat, ErrTokenUnknown, ErrTokenUsed, ErrTokenExpired, ErrWrongCA,
		ErrClock, ErrName, ErrLabels, ErrNameInUse,
		ErrRevoked, ErrNotHere, ErrNotEnrolled} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// codes are the errors of the center's answers on the wire.
var codes = map[string]error{
	"token-unknown": ErrTokenUnknown, "token-used": ErrTokenUsed, "token-expired": ErrTokenExpired, "name": ErrName,
	"name-in-use": ErrNameInUse, "labels": ErrLabels, "revoked": ErrRevoked, "site-unknown": ErrUnknownSite,
	"not-here": ErrNotHere,
}

func codeOf(err error) string {
	for code, e := range codes {
		if errors.Is(err, e) {
			return code
		}
	}
	return ""
}
