package doctor

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os/exec"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"skerry.dev/skerry/tunnel/doctor"
	"skerry.dev/skerry/tunnel/enroll"
)

// WorkstationConfig says which center is checked from where.
type WorkstationConfig struct {
	// Kubeconfig is a file; empty means KUBECONFIG or ~/.kube/config, as kubectl reads them.
	Kubeconfig string
	// Version of this program.
	Version string
	// LookPath finds a program in PATH; nil is exec.LookPath.
	LookPath func(program string) (path string, err error)
}

// Workstation returns the checks of a center with a kubeconfig, and of its sites and spaces.
func Workstation(cfg WorkstationConfig) []doctor.Check {
	if cfg.LookPath == nil {
		cfg.LookPath = exec.LookPath
	}
	w := &workstation{WorkstationConfig: cfg}
	return append([]doctor.Check{
		{Name: "workstation.kubectl", What: "there is a kubectl", Run: w.kubectl, Faults: []doctor.Fault{kubectlMissing}},
		{Name: "workstation.kubeconfig", What: "there is a kubeconfig of a center", Run: w.load,
			Faults: []doctor.Fault{kubeconfigMissing, kubeconfigUnusable}},
		{Name: "workstation.center", What: "the center answers", Needs: []string{"workstation.kubeconfig"},
			Run: w.reach, Faults: []doctor.Fault{centerUnresolved, centerSilent, centerWrongCA, centerCertificate,
				workstationClock, credentialsRefused, credentialsNone, notReady}},
	}, w.statuses("workstation.center")...)
}

// statuses are the checks of what a center knows of its sites and spaces.
func (w *workstation) statuses(need string) []doctor.Check {
	return []doctor.Check{
		{Name: "center.sites", What: "the sites are as they should be", Needs: []string{need}, Run: w.sites,
			Faults: siteFaults},
		{Name: "center.spaces", What: "the spaces have room", Needs: []string{need}, Run: w.spaces,
			Faults: []doctor.Fault{spaceQuota}},
	}
}

type workstation struct {
	WorkstationConfig
	config *rest.Config
}

func (w *workstation) kubectl(context.Context) []doctor.Finding {
	path, err := w.LookPath("kubectl")
	if err != nil {
		return one(kubectlMissing.Warns("%s", err))
	}
	return one(doctor.Good("%s", path))
}

func (w *workstation) load(context.Context) []doctor.Finding {
	config, name, err := load(w.Kubeconfig)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return one(kubeconfigMissing.Fails("%s", err))
	case err == nil && config.Host == "", clientcmd.IsEmptyConfig(err):
		return one(kubeconfigMissing.Fails("KUBECONFIG and ~/.kube/config name no center"))
	case err != nil:
		return one(kubeconfigUnusable.Fails("%s", err))
	}
	w.config = config
	return one(doctor.Good("context %s", name))
}

func (w *workstation) reach(ctx context.Context) []doctor.Finding {
	answer, err := ask(ctx, w.config)
	if err != nil {
		return one(unreachable(reach(err)))
	}
	if !answer.clock.IsZero() {
		if offset := time.Since(answer.clock); offset.Abs() > enroll.MaxClockOffset {
			return one(workstationClock.Fails("this machine's clock is %s from the center's",
				offset.Abs().Round(time.Second)))
		}
	}
	if len(answer.failing) > 0 {
		return one(notReady.Fails("%v", answer.failing))
	}
	if answer.code == http.StatusUnauthorized {
		return one(credentialsRefused.Fails("HTTP 401%s", ended(w.config, time.Now())))
	}
	return one(doctor.Good("%s is ready", w.config.Host))
}

func unreachable(r reason) doctor.Finding {
	fault := map[way]doctor.Fault{unreached: centerSilent, unresolved: centerUnresolved, otherCA: centerWrongCA,
		badCertificate: centerCertificate, refused: credentialsRefused, noCredentials: credentialsNone}[r.way]
	found := fault.Fails("%s", r.why)
	if r.notNow {
		found = found.Do("set this machine's clock if it is wrong (timedatectl set-ntp true); else restart the center: " +
			"it issues its certificate when it starts")
	}
	return found
}

// unlisted says why a list could not be had.
func unlisted(what string, err error) doctor.Finding {
	switch {
	case apierrors.IsUnauthorized(err):
		return credentialsRefused.Fails("HTTP 401")
	case apierrors.IsForbidden(err), apierrors.IsNotFound(err):
		return doctor.Skip("the kubeconfig is not an admin's of the center: it may not list %s", what)
	}
	return doctor.Skip("%s cannot be listed: %s", what, reach(err).why)
}

// maxBody bounds what is read of an answer.
const maxBody = 8 << 20

func readBounded(r io.Reader) ([]byte, error) { return io.ReadAll(io.LimitReader(r, maxBody)) }
