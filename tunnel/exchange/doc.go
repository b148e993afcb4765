// Package exchange is one HTTP/1.1 exchange over a stream of a data connection: a parent asks a
// child to reach into one Pod, or to change what was born with it, and the child answers.
//
// A [Request] names the Pod and a [Verb], and carries nothing of a client's own request but what
// the allow-lists of this package know. [RoundTrip] sends it and reads the answer; [Serve] reads
// it, has it answered, and sends the answer. After an upgrade both sides pass bytes in both
// directions until one of them ends. A relay is a Serve whose answer comes from a RoundTrip.
//
//	resp, err := exchange.RoundTrip(ctx, stream, &exchange.Request{Space: "shop", Namespace: "web",
//		Pod: "web-1", UID: uid, Verb: exchange.Log})   // the parent
//	err = exchange.Serve(ctx, stream, answer)          // the child
//
// Every receiver checks what it reads as if nobody before it had: heads and bodies are bounded, and
// an unknown header, an unknown option or an answer that was not asked for is an error.
package exchange
