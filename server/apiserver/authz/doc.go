// Package authz says what a user may do, by the roles and bindings of the space that a request is
// in.
//
// Roles reads them from the caches that all spaces share, and the well-known ones from memory
// (Bootstrap). The server asks, in this order, until one has an opinion:
//
//	system:masters      may do anything, in every space
//	OnlyOwnMasters      nobody else may act as that group
//	Users               who writes an account of kube-users must be allowed to impersonate its user
//	Members             the RBAC of the space, for those who are known in it
//
// Members lets system:authenticated mean the ServiceAccounts of the space and those whom its
// bindings name. All other people of the center are nobody there.
package authz
