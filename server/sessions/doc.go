// Package sessions lets agents in. It exchanges join tokens for certificates, runs one session per
// target, and writes the status of SyncTargets.
//
// Its nouns: a *target* is a SyncTarget as it is stored. A *session* is one connection of its
// agent; the newest wins. An *outage* is the time in which a target's reports are old.
//
// Life of a session:
//
//  1. A connection arrives over QUIC or TCP with a certificate. The key has to be the one that the
//     SyncTarget records (skerry.dev/key), and none of skerry.dev/revoked-keys. Membership is
//     asked for at each session, at each renewal and when the SyncTarget changes.
//  2. The agent says Hello. The cluster behind it may have no other name here, and a center may
//     not be below itself.
//  3. The desired feed goes down. Reports come up, are committed, and are acknowledged then.
//  4. What the agent says of itself becomes conditions. How far it is becomes the status.
//  5. The session ends: replaced, draining, removed, revoked, refused, silent or broken.
//
// Outages are judged once a second: no heartbeat for 8.5 s (metered links 27.5 s), no session, a
// cluster that does not answer, a relay whose sites are away or gone.
//
// A target that is removed with detachPolicy Clean is kept by a finalizer until its agent has
// acknowledged the tombstones and its reports are gone.
//
// # Authorities
//
// Package pki keeps the authorities of servers, people and agents; this package leads their
// rotation, and nextPhase is the whole rule. An admin's request and the status are two keys of the
// ConfigMap kube-system/skerry-authorities in root. Who holds which bundle is status.identity of
// the SyncTargets.
//
// # What is below a relay
//
// A relay reads the statuses of its own SyncTargets and tells its parent how many sites are not as
// they should be, and the first ten. At the parent that is status.below and the condition
// SubtreeHealthy, and the next parent reads it in the same way: paths grow by one name a relay.
//
// It also tells how many sites and relays are below, how many are connected, and the ten that have
// been away longest. Who comes back within 30 s was never away; who is back for 15 s is back. After
// each word of this there is none for 30 s, and up to 5 minutes where they follow one another.
// Below a relay that is away itself nobody is connected, and only the relay is named. Sites whose
// key was revoked do not count.
//
// Lock order: Server.mu, then targets.mu, then progresses.mu or usage.mu; connectedSites.mu inside
// Server.mu, too. Inside session.mu are only locks of other packages, and neither it nor Server.mu
// is taken inside the other. All other locks are taken last.
package sessions
