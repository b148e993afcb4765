// Package audit writes the audit log of Kubernetes, with the space of each request:
//
//	err := audit.Config{LogPath: "/var/log/skerry/audit.log", MaxSize: 100}.AddTo(genericConfig)
//
// Each line has the annotation skerry.dev/space. DefaultPolicy logs who has written what, and who
// has read a Secret; never the contents, and nothing that the center does itself.
package audit
