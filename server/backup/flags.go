package backup

import (
	"cmp"

	"github.com/urfave/cli/v2"

	"skerry.dev/skerry/server/backup/destination"
	"skerry.dev/skerry/server/backup/schedule"
)

// The flags of scheduled backups.
const (
	ToFlag       = "backup-to"
	ScheduleFlag = "backup-schedule"
	KeepFlag     = "backup-keep"

	s3CredentialsFlag = "s3-credentials-file"
)

// What holds where --backup-to says nothing else.
const (
	defaultSchedule = "24h"
	defaultKeep     = "14"
)

// PlanFlags are the flags of a center's scheduled backups.
func PlanFlags() []cli.Flag {
	return append([]cli.Flag{
		&cli.StringFlag{Name: ToFlag, EnvVars: []string{"SKERRY_BACKUP_TO"},
			Usage: "directory, or s3://BUCKET/PREFIX, to which the center backs itself up; empty means no scheduled backups"},
		&cli.StringFlag{Name: ScheduleFlag, EnvVars: []string{"SKERRY_BACKUP_SCHEDULE"}, DefaultText: defaultSchedule,
			Usage: "when, for --" + ToFlag + ": an interval such as 6h or 1d, or a cron expression such as \"30 2 * * *\", " +
				"in local time; one that was missed is made up for"},
		&cli.StringFlag{Name: KeepFlag, EnvVars: []string{"SKERRY_BACKUP_KEEP"}, DefaultText: defaultKeep,
			Usage: "how many backups of this center are kept, such as 14, or for how long, such as 30d; " +
				"the newest one always is"},
	}, S3Flags()...)
}

// S3Flags say how the bucket of s3://BUCKET/PREFIX is reached.
func S3Flags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "s3-endpoint",
			EnvVars: []string{"SKERRY_S3_ENDPOINT", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"},
			Usage:   "https://HOST:PORT of the S3 server; empty means Amazon's"},
		&cli.StringFlag{Name: "s3-region", EnvVars: []string{"SKERRY_S3_REGION", "AWS_REGION", "AWS_DEFAULT_REGION"},
			Usage: "region of the bucket; empty asks Amazon, and is us-east-1 at another server"},
		&cli.StringFlag{Name: "s3-ca-file", EnvVars: []string{"SKERRY_S3_CA_FILE", "AWS_CA_BUNDLE"},
			Usage: "PEM file with authorities to trust for the S3 server, besides the system's"},
		&cli.StringFlag{Name: s3CredentialsFlag, EnvVars: []string{"SKERRY_S3_CREDENTIALS_FILE"},
			Usage: "file with S3 credentials in AWS' format; empty means the systemd credential s3, else what AWS' own tools " +
				"use: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, ~/.aws/credentials, the role of the machine or the pod"},
	}
}

// S3Of is what those flags say. credential is the file that the service manager gives for them.
func S3Of(c *cli.Context, credential string) destination.S3 {
	return destination.S3{Endpoint: c.String("s3-endpoint"), Region: c.String("s3-region"), CAFile: c.String("s3-ca-file"),
		CredentialsFile: cmp.Or(c.String(s3CredentialsFlag), credential)}
}

// PlanOf is what the flags of PlanFlags say. Usage makes the error of an invalid one.
func PlanOf(c *cli.Context, credential string, usage func(format string, args ...any) error) (p Plan, err error) {
	to := c.String(ToFlag)
	if to == "" {
		for _, alone := range []string{ScheduleFlag, KeepFlag} {
			if c.String(alone) != "" {
				return p, usage("--%s: say where to, too, by --%s", alone, ToFlag)
			}
		}
		return p, nil
	}
	if p.To, err = destination.Open(to, S3Of(c, credential)); err != nil {
		return Plan{}, usage("--%s: %s", ToFlag, err)
	}
	if p.Schedule, err = schedule.Parse(cmp.Or(c.String(ScheduleFlag), defaultSchedule)); err != nil {
		return Plan{}, usage("--%s: %s", ScheduleFlag, err)
	}
	if p.Keep, err = schedule.ParseRetention(cmp.Or(c.String(KeepFlag), defaultKeep)); err != nil {
		return Plan{}, usage("--%s: %s", KeepFlag, err)
	}
	return p, nil
}
