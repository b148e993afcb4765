// Package variant renders what one target gets of an object: the object as its space has it,
// changed by the Customizers of that space with the values of that target. It is pure.
//
//	c, problems := variant.Parse(body)                  // a Customizer as it is stored
//	set := variant.NewSet(c, other)                     // those of one space
//	out, err := set.Render(variant.Object{Key: k, Body: base}, values)
//
// # Where it runs
//
// A variant is rendered by the agent that applies it, and nowhere else. The center sends every
// target the same base. Beside it the target's feed has two kinds of entries of their own:
//
//   - each Customizer of a space, under its own key, at every target that has anything of that
//     space. Its body is the same for all targets, so it is rendered and compressed once.
//   - the target's own Values, under store.ValuesKey: its name, labels and properties. Labels that
//     change are one small entry for that one target.
//
// Both kinds go before the objects (store.ClassRule), and the agent keeps both in its file. So it
// renders its variants also while it is cut off, and a first sight of an object is its variant. A
// relay renders nothing. It writes the Customizers into its own space of the same name, and its
// children get them with the values that the relay has of them.
//
// All Customizers of a space go to each target of the space, also those that change nothing there:
// 64 of 64 KiB at most (MaxPerSpace, MaxBytes). No target gets those of a space of which it has
// nothing.
//
// # Hashes
//
// The hash of an entry is that of the base, which is what the center compares and what a report
// names. The agent's inventory has the hash of the variant beside it. Both must be right for an
// object to be as desired; adoption and drift compare with the variant.
//
// # What cannot be changed
//
// Of the metadata only labels and annotations may change, and none of them whose domain is
// skerry.dev. apiVersion, kind and status stay as they are. Definitions, Namespaces,
// ServiceAccounts, webhooks, rights and what skerry.dev serves are never customized (Customizable).
// An object for which a Customizer fails keeps its last good version at that target. The target's
// own API checks the variant against the schema of its kind, and takes all of it or nothing.
package variant
