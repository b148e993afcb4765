package admin

import (
	"strings"

	"github.com/urfave/cli/v2"

	"skerry.dev/skerry/store/etcd"
	"skerry.dev/skerry/tunnel/commandline"
)

// The flags of a center of several replicas.
const (
	DatastoreFlag       = "datastore-endpoint"
	DatastoreSecretFlag = "datastore-secret-file"
	DatastoreCAFlag     = "datastore-ca-file"
	DatastoreCertFlag   = "datastore-cert-file"
	DatastoreKeyFlag    = "datastore-key-file"
	ReplicaAddressFlag  = "replica-address"
)

// ReplicaFlags are the flags of a center that is one of several replicas. When one of them is set,
// what cannot be meant is refused.
func ReplicaFlags() []cli.Flag {
	check := func(c *cli.Context, _ string) error {
		if c.Command != nil && c.Command.Command(c.Args().First()) != nil {
			return nil // a command of a center, such as its backup, has flags of its own; these come from variables
		}
		return checkReplica(c)
	}
	return []cli.Flag{
		&cli.StringFlag{
			Name:    DatastoreFlag,
			Action:  check,
			EnvVars: []string{"SKERRY_DATASTORE_ENDPOINT"},
			Usage: "for a center of several replicas, of which one leads: postgres://USER:PASSWORD@HOST:PORT/DATABASE, or " +
				"https://HOST:PORT of each member of an etcd cluster, with commas; empty is a file in --data-dir",
		},
		&cli.StringFlag{
			Name:    DatastoreSecretFlag,
			Action:  check,
			EnvVars: []string{"SKERRY_DATASTORE_SECRET_FILE"},
			Usage: "file with a secret that all replicas have, for " +
				"--datastore-endpoint; make it with: openssl rand -hex 32",
		},
		&cli.StringFlag{Name: DatastoreCAFlag, Action: check, EnvVars: []string{"SKERRY_DATASTORE_CA_FILE"},
			Usage: "PEM file with the authorities of etcd's certificates; empty means the system's"},
		&cli.StringFlag{Name: DatastoreCertFlag, Action: check, EnvVars: []string{"SKERRY_DATASTORE_CERT_FILE"},
			Usage: "PEM file with this center's certificate as a client of etcd; it may be renewed in place"},
		&cli.StringFlag{Name: DatastoreKeyFlag, Action: check, EnvVars: []string{"SKERRY_DATASTORE_KEY_FILE"},
			Usage: "PEM file with the key of --" + DatastoreCertFlag},
		&cli.StringFlag{Name: ReplicaAddressFlag, Action: check, EnvVars: []string{"SKERRY_REPLICA_ADDRESS"},
			Usage: "HOST:PORT by which the other replicas reach this one; empty is --listen, or this host's own address " +
				"where that is all addresses"},
	}
}

// DatastoreFiles are those of TLS with etcd.
func DatastoreFiles(c *cli.Context) etcd.Files {
	return etcd.Files{CA: c.String(DatastoreCAFlag), Cert: c.String(DatastoreCertFlag), Key: c.String(DatastoreKeyFlag)}
}

func checkReplica(c *cli.Context) error {
	if (c.String(DatastoreFlag) == "") != (c.String(DatastoreSecretFlag) == "") {
		return Usage("--%s and --%s go together", DatastoreFlag, DatastoreSecretFlag)
	}
	if c.String(DatastoreFlag) != "" && len(c.StringSlice("parent")) > 0 {
		return Usage("--%s: a relay has one replica; leave out --parent", DatastoreFlag)
	}
	if (c.String(DatastoreCertFlag) == "") != (c.String(DatastoreKeyFlag) == "") {
		return Usage("--%s and --%s go together", DatastoreCertFlag, DatastoreKeyFlag)
	}
	for _, flag := range []string{DatastoreCAFlag, DatastoreCertFlag} {
		if c.String(flag) != "" && !strings.HasPrefix(c.String(DatastoreFlag), "https://") {
			return Usage("--%s: only etcd has it: --%s https://HOST:PORT,...", flag, DatastoreFlag)
		}
	}
	if address := c.String(ReplicaAddressFlag); address != "" {
		if c.String(DatastoreFlag) == "" {
			return Usage("--%s: only one of several replicas has it; add --%s", ReplicaAddressFlag, DatastoreFlag)
		}
		return commandline.HostPort("--"+ReplicaAddressFlag, address)
	}
	return nil
}
