// Package tunnel connects two tiers. A child dials its parent and opens three streams on one
// connection: a control stream and one delta stream per direction.
//
// Its nouns are [Conn], [Stream] and [Identity], which every transport provides, and the session:
// [ServeChild] on one side, [ServeParent] on the other.
//
//	conn, err := quic.Dial(ctx, address, cfg)  // or tcp, or pipe in tests
//	err = tunnel.ServeChild(ctx, conn, tunnel.ChildConfig{
//		Hello: hello, Desired: sink, Reported: feed,
//	})
//
// The life of a session:
//
//  1. The child opens its streams and says [Hello]. Its position follows at once, unless the
//     session takes over from another one.
//  2. The parent checks identity and membership and answers with [Welcome], or refuses with
//     [Refused].
//  3. delta.Receive keeps the child's copy of the desired feed. delta.Send sends the reported feed.
//     The parent does the opposite.
//  4. The control stream carries what is rare: conditions, commands of an admin, certificates, how
//     to use the link.
//  5. The first part that fails ends the session. The reason crosses as a code, so that both sides
//     know it.
//
// It does not know what the objects mean, who may connect, or when to dial again. The bytes are in
// PROTOCOL.md beside this file; README.md and OPERATIONS.md explain the rest.
//
// Lock order: LinkUse.mu, then that of its delta.Regulator. Other locks of this package never nest.
package tunnel
