// Package controllers does for all spaces what a cluster's controller manager does: each controller
// follows the keys of one kind in the store, queues what a key names, and reconciles it until that
// succeeds.
//
//	JobTTL            deletes Jobs whose ttlSecondsAfterFinished is over
//	AggregatedRoles   keeps ClusterRoles with an aggregationRule up to date
//	TypeChecks        writes what is wrong with a ValidatingAdmissionPolicy into its status
//
// They write as clients of the loopback.
package controllers
