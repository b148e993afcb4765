package sessions

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// namesToForget reads which names an admin wants off the certificate.
func namesToForget(obj map[string]any, log *slog.Logger) (names []string) {
	text, _, _ := unstructured.NestedString(obj, "data", v1alpha1.AuthoritiesForgetKey)
	if text == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(text), &names); err != nil {
		log.Error("the names to take off the certificate cannot be read; give them with: skerry ca forget", "err", err)
		return nil
	}
	return names
}

// keepNames records the names that are advertised, and takes off those that an admin wants off.
func (srv *Server) keepNames(ctx context.Context) error {
	if err := srv.cfg.Authorities.KeepNames(); err != nil {
		return err
	}
	srv.mu.Lock()
	forget := srv.forget
	srv.mu.Unlock()
	if len(forget) == 0 {
		return nil
	}
	if err := srv.cfg.Authorities.ForgetNames(forget...); err != nil {
		return err
	}
	srv.cfg.Log.Info("names are taken off the certificate", "names", forget)
	if err := srv.writeConfigMap(ctx, v1alpha1.AuthoritiesName, v1alpha1.AuthoritiesForgetKey, ""); err != nil {
		return fmt.Errorf("empty the list of names to take off: %w", err)
	}
	return nil
}

// dialLocked returns the first connected targets that dial the center by a name. srv.mu must be held.
func (srv *Server) dialLocked(name string) (targets []string) {
	for target, s := range srv.sessions {
		if host, _, err := net.SplitHostPort(s.hello.Dialled); err == nil && strings.EqualFold(host, name) {
			targets = append(targets, target)
		}
	}
	slices.Sort(targets)
	return targets[:min(len(targets), maxWaitingFor)]
}
