// Package streams is the far end of what a parent asks of a Pod: its log, a process in it, its
// ports; of the deletion and the change of a Pod and of what was born with it; and of a view of
// namespaces, which agent/view answers. A [Handler] serves one stream after the other. What it lets
// through goes to a [Backend]: the API server of the target ([Site]), or the next tier of a relay
// ([Relay]).
//
// Life of a stream:
//  1. tunnel/exchange reads the request. It names a space, a Pod with its UID, and a verb.
//  2. The site's own policy says whether the verb is allowed here.
//  3. The Pod has to belong to an object that was placed here from that space; [Pods] knows that.
//  4. The backend looks whether the target has that very Pod now, and sends a new request. Labels
//     may change as long as what owns the Pod still selects it, and of the status only conditions
//     that spec.readinessGates names.
//  5. Bytes pass until one side ends. A line in the log and one in the audit log say who asked.
package streams
