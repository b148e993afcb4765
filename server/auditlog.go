package server

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"skerry.dev/skerry/server/apiserver/audit"
)

// NoAuditLog is the path that means that no audit log is written.
const NoAuditLog = "none"

// The audit log's bounds unless flags say otherwise: 300 MB, and a month.
const (
	auditMegabytes = 50
	auditFiles     = 5
	auditDays      = 30
)

// AuditFlags are the flags that say which audit log is written. They have upstream's names.
func AuditFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{
			Name:    "audit-log-path",
			EnvVars: []string{"SKERRY_AUDIT_LOG_PATH"},
			Usage: "file for the audit log, one JSON line an event, with its space; " +
				"- means standard output, " + NoAuditLog + " none, empty audit/audit.log in the data directory",
		},
		&cli.StringFlag{
			Name:    "audit-policy-file",
			EnvVars: []string{"SKERRY_AUDIT_POLICY_FILE"},
			Usage: "file with a Kubernetes audit policy; " +
				"empty logs who wrote what, and who read a Secret, without bodies",
		},
		&cli.IntFlag{
			Name:    "audit-log-maxsize",
			Value:   auditMegabytes,
			EnvVars: []string{"SKERRY_AUDIT_LOG_MAXSIZE"},
			Usage:   "megabytes at which the audit log is begun anew",
		},
		&cli.IntFlag{
			Name:    "audit-log-maxbackup",
			Value:   auditFiles,
			EnvVars: []string{"SKERRY_AUDIT_LOG_MAXBACKUP"},
			Usage:   "how many old audit logs are kept",
		},
		&cli.IntFlag{
			Name:    "audit-log-maxage",
			Value:   auditDays,
			EnvVars: []string{"SKERRY_AUDIT_LOG_MAXAGE"},
			Usage:   "days for which old audit logs are kept",
		},
	}
}

// AuditOf is what those flags say.
func AuditOf(c *cli.Context) audit.Config {
	return audit.Config{PolicyFile: c.String("audit-policy-file"), LogPath: c.String("audit-log-path"),
		MaxSize: c.Int(
			"audit-log-maxsize",
		), MaxBackups: c.Int("audit-log-maxbackup"), MaxAge: c.Int("audit-log-maxage")}
}

// openAudit makes room for the audit log, mode 0700.
func (s *Server) openAudit() error {
	a := &s.cfg.Audit
	a.MaxSize, a.MaxBackups, a.MaxAge = cmp.Or(
		a.MaxSize,
		auditMegabytes,
	), cmp.Or(
		a.MaxBackups,
		auditFiles,
	), cmp.Or(
		a.MaxAge,
		auditDays,
	)
	switch a.LogPath {
	case NoAuditLog:
		a.LogPath = ""
	case "":
		dir := filepath.Join(s.cfg.DataDir, "audit")
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("make room for the audit log: %w", err)
		}
		a.LogPath = filepath.Join(dir, "audit.log")
	}
	return nil
}
