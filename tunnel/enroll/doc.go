// Package enroll turns a join token into a certificate, and judges certificates afterwards.
//
// Its nouns are the [Token], the [Credentials] of a site, and the [Clock] by which a site judges
// its parent.
//
// The life of a join:
//
//  1. The child ([Join]) connects and proves the center by the pin in the token. It sends no secret
//     before that.
//  2. It sends one certificate request. Its key never leaves it.
//  3. The parent ([Handler], one HTTP route at [Path]) checks the token, signs, and answers with
//     the chain and its authorities.
//  4. The child stores its Credentials. [Load] reads them at the next start.
//
// Renewal is no join: it crosses the tunnel's control stream.
//
// # Time
//
// A site's clock may be at 1970 or years ahead. A [Clock] knows three times. The first is the
// machine's clock. The second is the parent's: the time in a verified Welcome plus the monotonic
// time since. The third is a lower bound in the agent's file. The bound is raised to the parent's
// time, or to the machine's where that is earlier. One of two clocks that differ is wrong, and only
// a machine behind the bound is known to be.
//
// The parent's certificate is judged as follows, always under the authorities that the site has:
//
//  1. A clock before the bound, or before the certificate's beginning, is wrong and does not count:
//     the authority has signed, so that time has come. If no clock is left, the certificate's
//     beginning counts, or the bound if that is later. So "not yet valid" never keeps a site away.
//  2. The certificate is accepted if one of the clocks that count finds it valid. These are the
//     parent's, the machine's, and, right after a start, the machine's less the offset that was
//     last seen.
//  3. Otherwise it has ended (ErrEnded). The session is refused, and the message has all times. A
//     certificate that ended before the bound is refused whatever the machine's clock says. So
//     whoever has an old key gains nothing by setting the clock back.
//
// The parent's side is more lenient: it decides by the recorded key. It accepts an expired
// certificate of an agent, for renewal alone. It accepts one from the future, because it was signed
// here and this clock was set back.
//
// The target's certificate is judged by the machine's clock. Only a clock behind the bound is
// replaced by the most likely time. So a board that boots in 1970 reaches its target before anybody
// has set the clock.
package enroll
