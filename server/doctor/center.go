package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"skerry.dev/skerry/store/datadir"
	"skerry.dev/skerry/store/etcd"
	"skerry.dev/skerry/store/kine"
	"skerry.dev/skerry/tunnel/doctor"
	"skerry.dev/skerry/tunnel/doctor/machine"
	"skerry.dev/skerry/tunnel/quic"
)

// The files of a data directory.
const (
	// LockFile is locked (flock) by the center that runs.
	LockFile = "lock"
	// KubeconfigFile is the admin's.
	KubeconfigFile = "admin.kubeconfig"
)

// CenterConfig says which center is checked.
type CenterConfig struct {
	DataDir string
	// Listen is HOST:PORT of its configuration.
	Listen string
	// Advertise are further names and addresses of its configuration, without a port.
	Advertise []string
	// MetricsListen is HOST:PORT of its configuration; empty is none.
	MetricsListen string
	// Datastore is the URL of a datastore that replicas share, and DatastoreFiles those of TLS with it;
	// empty is a file in DataDir.
	Datastore      string
	DatastoreFiles etcd.Files
	Backups        Backups
	// Keys reads the center's keys and returns until when its authority is valid.
	Keys func(dataDir string) (time.Time, error)
	// Encryption opens what a center that does not run has encrypted, and reports whether the key for
	// that is missing. nil leaves it out.
	Encryption func(ctx context.Context) (missing bool, err error)
	// Version of this program.
	Version string
	// Machine has what else is private on the machine; its Dir is DataDir.
	Machine machine.Config
	// UDPBuffer is the size of the kernel's UDP buffers that the center wants; 0 is quic.WantBuffer.
	UDPBuffer int
}

// Center returns the checks of a center.
func Center(cfg CenterConfig) []doctor.Check {
	cfg.Machine.Dir = cfg.DataDir
	if cfg.UDPBuffer == 0 {
		cfg.UDPBuffer = quic.WantBuffer
	}
	c := &center{CenterConfig: cfg, api: &workstation{WorkstationConfig: WorkstationConfig{Version: cfg.Version}}}
	checks := append(machine.Checks(cfg.Machine), machine.UDPBuffers(cfg.UDPBuffer),
		doctor.Check{Name: "center.port", What: "one center has the data directory and the port",
			Needs: []string{"machine.directory"}, Run: c.port,
			Faults: []doctor.Fault{directoryOfAgent, directoryInUse, portTaken, listenInvalid}},
		doctor.Check{Name: "center.keys", What: "the center's keys are sound", Needs: []string{"machine.directory"},
			Faults: []doctor.Fault{keysDamaged, authorityExpired}, Run: c.keys},
		doctor.Check{Name: "center.database", What: "the center's database is sound",
			Needs: []string{"machine.directory"}, Run: c.database,
			Faults: []doctor.Fault{databaseDamaged, databaseLocked, datastoreDown, datastoreRefuses, datastoreCrowded,
				datastoreFull, datastoreReadOnly}},
		doctor.Check{Name: "center.encryption", What: "the keys that encrypt Secrets are there",
			Needs:  []string{"center.port", "center.keys", "center.database"},
			Faults: []doctor.Fault{encryptionKeyMissing}, Run: c.encryption},
		machine.Metrics(cfg.MetricsListen, []string{"center.port"}, func() bool { return c.running }),
		doctor.Check{Name: "center.ready", What: "the center is ready",
			Needs:  []string{"machine.disk", "center.port", "center.keys", "center.database", "center.encryption"},
			Faults: []doctor.Fault{notReady, notAnswering}, Run: c.ready},
		doctor.Check{Name: "center.name", What: "the center's certificate has the names that it advertises",
			Needs: []string{"center.ready"}, Faults: []doctor.Fault{nameMissing}, Run: c.names},
		doctor.Check{Name: "center.backup", What: "scheduled backups are made", Needs: []string{"center.ready"},
			Faults: []doctor.Fault{backupUnwritable, backupOverdue}, Run: c.backups})
	return append(checks, c.api.statuses("center.ready")...)
}

type center struct {
	CenterConfig
	running bool
	api     *workstation // its config is nil unless the center is ready
}

func one(f doctor.Finding) []doctor.Finding { return []doctor.Finding{f} }

// locked reports whether a center runs on the data directory.
func (c *center) locked() (bool, error) {
	f, err := os.Open(filepath.Join(c.DataDir, LockFile))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	defer f.Close() // which lets the lock go
	err = unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return true, nil
	}
	return false, err
}

// port says who has the data directory and who the port: both are the center's or both are free.
func (c *center) port(context.Context) []doctor.Finding {
	if err := datadir.Check(c.DataDir, datadir.Center); err != nil {
		return one(directoryOfAgent.Fails("%s is an agent's", c.DataDir))
	}
	host, portText, err := net.SplitHostPort(c.Listen)
	number, perr := strconv.ParseUint(portText, 10, 16)
	if err = errors.Join(err, perr); err != nil {
		return one(listenInvalid.Fails("listen: %q", c.Listen))
	}
	if c.running, err = c.locked(); err != nil {
		return one(doctor.Skip("the lock cannot be looked at: %s", err))
	}
	port := int(number)
	taken, err := isTaken(host, port)
	if err != nil {
		return one(listenInvalid.Fails("%s", err))
	}
	if c.running {
		holder := machine.LockHolder(filepath.Join(c.DataDir, LockFile))
		listener := machine.PortHolder("tcp", port)
		if port != 0 && (taken == "" || holder.ID != 0 && listener.ID != 0 && holder != listener) {
			return one(directoryInUse.Fails("%s runs on %s and does not listen at %s", holder, c.DataDir, c.Listen))
		}
		return one(doctor.Good("the center runs (%s)", holder))
	}
	if taken != "" {
		return one(portTaken.Fails("%s listens at %s (%s)", machine.PortHolder(taken, port), c.Listen, taken))
	}
	return one(doctor.Good("no center runs, and the port is free"))
}

// isTaken returns the network, tcp or udp, on which somebody listens at an address, "" for none.
func isTaken(host string, port int) (network string, err error) {
	address := net.JoinHostPort(host, strconv.Itoa(port))
	tcp, err := net.Listen("tcp", address)
	if err != nil {
		if errors.Is(err, unix.EADDRINUSE) {
			return "tcp", nil
		}
		return "", err
	}
	defer tcp.Close()
	udp, err := net.ListenPacket("udp", tcp.Addr().String())
	if err != nil {
		if errors.Is(err, unix.EADDRINUSE) && port != 0 {
			return "udp", nil
		}
		return "", err
	}
	return "", udp.Close()
}

// isNew reports whether the center has never run.
func (c *center) isNew() bool {
	_, err := os.Stat(filepath.Join(c.DataDir, "pki"))
	_, dataErr := os.Stat(filepath.Join(c.DataDir, kine.FileName))
	return errors.Is(err, fs.ErrNotExist) && errors.Is(dataErr, fs.ErrNotExist)
}

func (c *center) keys(context.Context) []doctor.Finding {
	if c.isNew() {
		return one(doctor.Skip("no center has run here yet"))
	}
	until, err := c.Keys(c.DataDir)
	switch {
	case err != nil:
		return one(keysDamaged.Fails("%s", err))
	case time.Now().After(until):
		return one(authorityExpired.Fails("it was valid until %s", until.UTC().Format(time.RFC3339)))
	}
	return one(doctor.Good("the authority is valid until %s", until.UTC().Format(time.RFC3339)))
}

// ready asks a center that runs, by the admin's kubeconfig and at this machine's own address.
func (c *center) ready(ctx context.Context) []doctor.Finding {
	if !c.running {
		return one(doctor.Skip("no center runs"))
	}
	config, _, err := load(filepath.Join(c.DataDir, KubeconfigFile))
	if err != nil {
		return one(notAnswering.Fails("%s", err))
	}
	config.Host = "https://" + localAddress(c.Listen, config.Host)
	answer, err := ask(ctx, config)
	switch {
	case err != nil:
		return one(notAnswering.Fails("%s", reach(err).why))
	case len(answer.failing) > 0:
		return one(notReady.Fails("not ready: %s", strings.Join(answer.failing, ", ")))
	}
	c.api.config = config
	return one(doctor.Good("it is"))
}

// localAddress is where a center that listens at an address is reached on its own machine. Where
// its port is any that is free, the kubeconfig knows which one.
func localAddress(listen, server string) string {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return listen
	}
	if port == "0" {
		if u, err := url.Parse(server); err == nil {
			port = u.Port()
		}
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return fmt.Sprintf("%s:%s", bracketed(host), port)
}

func bracketed(host string) string {
	if strings.Contains(host, ":") {
		return "[" + host + "]"
	}
	return host
}
