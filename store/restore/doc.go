// Package restore has the words in which a copy of a center's data is written into a datastore that
// replicas share, whatever the engine: what the copy holds (Content), what the datastore holds
// already (There), and why a restore is refused.
//
// A restore is whole or it is seen. PostgreSQL takes it as one transaction. An etcd cluster takes it
// key by key, beneath a mark without which no step is made, and which the last step removes. No
// center opens a datastore with a mark (ErrUnfinished), and a restore that is to replace what is
// there may begin again.
//
// Sites that have seen later writes than those of the copy must not take the new ones for the same.
// So a restore begins an era (store.Eras) at the copy's revision, before any replica writes.
package restore
