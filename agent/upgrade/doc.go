// Package upgrade has the version of an agent follow the wish of its center, as far as the site's owner wants that.
//
//	w := upgrade.Open(dir, version, conditions, log)
//	tunnel.ChildConfig{OnWish: w.Set}    // the center's word
//	w.Run(ctx)                           // says what has become of it, until ctx ends
//
//	err := upgrade.Install(ctx, upgrade.Options{...})   // in another process, as root
//
// The agent has no right to install anything. It writes the version that is wished into the file [WishFile] of its data
// directory. skerry-agent-upgrade.path, which the owner enables, watches that file, and has Install run the owner's
// command with the version. So the center says which version, and nothing of where it comes from or how. What
// has become of it stands in [ResultFile], which root writes and the agent reads, and then in the condition
// VersionAsWished of the SyncTarget.
package upgrade
