// Package uplink keeps one session with the parent. It joins once with a token. Then it dials,
// serves the session, and dials again with a jittered backoff.
//
// Its nouns are the [Route], one transport to one address of the parent, and the session that runs
// over it. A second connection may be dialled beside a session; the newest session wins.
//
//	err := uplink.Run(ctx, uplink.Config{
//		Dir: dir, Parents: parents, Token: token, Name: name, Hello: hello,
//		Desired: sink, Reported: feed, ReportedReady: ready, Conditions: &conditions, Log: log,
//	})
//
// The life of a session:
//
//  1. All ways are dialled, each a little after the one before, QUIC first. The first connection
//     that stands is used; the others are closed.
//  2. tunnel.ServeChild says Hello. The parent's Welcome lets the session in.
//  3. When the parent falls silent, calls after a restart, or may be reached over QUIC again,
//     another connection is dialled beside the session.
//  4. The old session ends when the parent has let the new one in.
//  5. An ended session is dialled again after a wait with full jitter. tunnel/OPERATIONS.md has all
//     times.
//
// It decides nothing about the target: without a session the site continues as it is. Errors of
// joining that a retry does not mend end Run with [ErrRefused]. After joining only a removal or a
// final refusal ends it.
//
// Lock order: told.mu, then the locks of the Conditions, the clock and the credentials.
package uplink
