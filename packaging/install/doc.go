// Package install puts Skerry on a machine that systemd runs: `skerry install` and `skerry
// uninstall`, from the one binary and without a network. The deb and the rpm are made of the same
// [Files], so that both ways end in the same machine.
//
// What is the machine's own (units, samples, users) is overwritten. What is the admin's (the keys of
// /etc/skerry/*.yaml, credentials, data) is kept, and goes with uninstall --purge alone.
package install
