package audit

import (
	_ "embed"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"

	lumberjack "gopkg.in/natefinch/lumberjack.v2"
	auditapi "k8s.io/apiserver/pkg/apis/audit"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/audit/policy"
	genericapiserver "k8s.io/apiserver/pkg/server"
	auditlog "k8s.io/apiserver/plugin/pkg/audit/log"

	"skerry.dev/skerry/server/apiserver/request"
)

// spaceAnnotation is the annotation of each line of the audit log that says which space the request
// was in.
const spaceAnnotation = "skerry.dev/space"

// Config says what is written to an audit log, and where. Its zero value is no log.
type Config struct {
	// PolicyFile is a file with a Kubernetes audit policy; empty means DefaultPolicy.
	PolicyFile string
	// LogPath is the log's file, "-" standard output; empty means that there is no audit log.
	LogPath string
	// MaxSize is the size in megabytes at which the file is begun anew. MaxBackups old files are
	// kept, none longer than MaxAge days.
	MaxSize, MaxBackups, MaxAge int
}

// DefaultPolicy logs who has written what, and who has read a Secret: never what is in it, and
// nothing that the center does itself.
//
//go:embed auditpolicy.yaml
var DefaultPolicy []byte

func (a Config) policy() (*auditapi.Policy, error) {
	if a.PolicyFile != "" {
		return policy.LoadPolicyFromFile(a.PolicyFile)
	}
	return policy.LoadPolicyFromBytes(DefaultPolicy)
}

// AddTo has the server write the audit log. A line is in the kernel before its request is answered.
func (a Config) AddTo(g *genericapiserver.Config) error {
	if a.LogPath == "" {
		if a.PolicyFile != "" {
			return fmt.Errorf("--audit-policy-file %s: there is no audit log, see --audit-log-path", a.PolicyFile)
		}
		return nil
	}
	rules, err := a.policy()
	if err != nil {
		return fmt.Errorf("--audit-policy-file: %w; it must be a Policy of audit.k8s.io/v1", err)
	}
	var out io.Writer = os.Stdout
	if a.LogPath != "-" {
		file := &lumberjack.Logger{Filename: a.LogPath, MaxSize: a.MaxSize, MaxBackups: a.MaxBackups, MaxAge: a.MaxAge}
		if _, err := file.Write(nil); err != nil {
			return fmt.Errorf("--audit-log-path: %w; name a file in a directory that the center may write to, or none", err)
		}
		out = file
	}
	g.AuditPolicyRuleEvaluator = policy.NewPolicyRuleEvaluator(rules)
	if a.PolicyFile == "" {
		g.AuditPolicyRuleEvaluator = views{g.AuditPolicyRuleEvaluator}
	}
	g.AuditBackend = spaces{auditlog.NewBackend(out, auditlog.FormatJson, auditv1.SchemeGroupVersion)}
	return nil
}

// spaces notes the space on each event. An event has no context: it knows the space from the
// address that the client asked for.
type spaces struct{ audit.Backend }

// ProcessEvents implements audit.Sink.
func (b spaces) ProcessEvents(events ...*auditapi.Event) bool {
	noted := make([]*auditapi.Event, len(events))
	for i, e := range events {
		one := *e
		if one.Annotations = maps.Clone(e.Annotations); one.Annotations == nil {
			one.Annotations = map[string]string{}
		}
		one.RequestURI = firstWord(e.RequestURI)
		one.Annotations[spaceAnnotation] = spaceOfURI(e.RequestURI)
		noted[i] = &one
	}
	return b.Backend.ProcessEvents(noted...)
}

func spaceOfURI(uri string) string {
	u, err := url.ParseRequestURI(uri)
	if err != nil {
		return ""
	}
	space, _ := request.Split(u.Path)
	return space
}
