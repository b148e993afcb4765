package admin

import "github.com/urfave/cli/v2"

// The flags of a center of several replicas.
const (
	DatastoreFlag       = "datastore-endpoint"
	DatastoreSecretFlag = "datastore-secret-file"
	ReplicaAddressFlag  = "replica-address"
)

// ReplicaFlags are the flags of a center that is one of several replicas. When one of them is set,
// what cannot be meant is refused.
func ReplicaFlags() []cli.Flag {
	check := func(c *cli.Context, _ string) error { return checkReplica(c) }
	return []cli.Flag{
		&cli.StringFlag{
			Name:    DatastoreFlag,
			Action:  check,
			EnvVars: []string{"SKERRY_DATASTORE_ENDPOINT"},
			Usage: "postgres://USER:PASSWORD@HOST:PORT/DATABASE for a center of " +
				"several replicas, of which one leads; empty is a file in --data-dir",
		},
		&cli.StringFlag{
			Name:    DatastoreSecretFlag,
			Action:  check,
			EnvVars: []string{"SKERRY_DATASTORE_SECRET_FILE"},
			Usage: "file with a secret that all replicas have, for " +
				"--datastore-endpoint; make it with: openssl rand -hex 32",
		},
		&cli.StringFlag{Name: ReplicaAddressFlag, Action: check, EnvVars: []string{"SKERRY_REPLICA_ADDRESS"},
			Usage: "HOST:PORT by which the other replicas reach this one; empty is --listen, or this host's own address " +
				"where that is all addresses"},
	}
}

func checkReplica(c *cli.Context) error {
	if (c.String(DatastoreFlag) == "") != (c.String(DatastoreSecretFlag) == "") {
		return Usage("--%s and --%s go together", DatastoreFlag, DatastoreSecretFlag)
	}
	if c.String(DatastoreFlag) != "" && len(c.StringSlice("parent")) > 0 {
		return Usage("--%s: a relay has one replica; leave out --parent", DatastoreFlag)
	}
	if address := c.String(ReplicaAddressFlag); address != "" {
		if c.String(DatastoreFlag) == "" {
			return Usage("--%s: only one of several replicas has it; add --%s", ReplicaAddressFlag, DatastoreFlag)
		}
		return HostPort("--"+ReplicaAddressFlag, address)
	}
	return nil
}
