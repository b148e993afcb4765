package apiserver

import (
	"errors"
	"fmt"
	"maps"
	"net/url"

	auditapi "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/audit"
	genericapiserver "k8s.io/apiserver/pkg/server"
	genericoptions "k8s.io/apiserver/pkg/server/options"
)

// auditSpace is the annotation of each line of the audit log that says which space the request was in.
const auditSpace = "skerry.dev/space"

// addAudit has the server write an audit log by Kubernetes' policy file.
func addAudit(g *genericapiserver.Config, policyFile, logPath string) error {
	switch {
	case policyFile == "" && logPath == "":
		return nil
	case policyFile == "" || logPath == "":
		return errors.New("an audit log needs both --audit-policy-file and --audit-log-path")
	}
	o := genericoptions.NewAuditOptions()
	o.PolicyFile, o.LogOptions.Path = policyFile, logPath
	o.LogOptions.MaxSize, o.LogOptions.MaxBackups, o.LogOptions.MaxAge = auditMegabytes, auditFiles, 0
	if err := errors.Join(o.Validate()...); err != nil {
		return fmt.Errorf("audit log: %w", err)
	}
	if err := o.ApplyTo(g); err != nil {
		return fmt.Errorf("audit log: %w", err)
	}
	g.AuditBackend = auditSpaces{g.AuditBackend}
	return nil
}

// The audit log is begun anew at this size, and so many old files are kept.
const (
	auditMegabytes = 100
	auditFiles     = 10
)

// auditSpaces notes the space on each event. An event has no context: it knows the space from the address that the client asked for.
type auditSpaces struct{ audit.Backend }

// ProcessEvents implements audit.Sink.
func (b auditSpaces) ProcessEvents(events ...*auditapi.Event) bool {
	noted := make([]*auditapi.Event, len(events))
	for i, e := range events {
		one := *e
		if one.Annotations = maps.Clone(e.Annotations); one.Annotations == nil {
			one.Annotations = map[string]string{}
		}
		one.Annotations[auditSpace] = spaceOfURI(e.RequestURI)
		noted[i] = &one
	}
	return b.Backend.ProcessEvents(noted...)
}

func spaceOfURI(uri string) string {
	u, err := url.ParseRequestURI(uri)
	if err != nil {
		return ""
	}
	space, _ := split(u.Path)
	return space
}
