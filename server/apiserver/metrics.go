package apiserver

import (
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	handlermetrics "k8s.io/apiserver/pkg/endpoints/handlers/metrics"
	apimetrics "k8s.io/apiserver/pkg/endpoints/metrics"
	cachermetrics "k8s.io/apiserver/pkg/storage/cacher/metrics"
	storagemetrics "k8s.io/apiserver/pkg/storage/etcd3/metrics"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
)

// The labels of these two are what stands in the URLs of requests that came to nothing: names of
// objects, and as many series as somebody makes up. Upstream takes no other word for leaving them
// out than this one of the whole process.
func init() {
	metrics.SetDisabledMetrics([]string{"apiserver_request_terminations_total", "apiserver_request_aborts_total"})
}

// Gatherer has the metrics of the API server itself, all spaces together. Kubernetes' libraries
// keep them in a registry of the process, from which those of the Go runtime and the process are
// left out: the center's own registry has them.
func Gatherer() prometheus.Gatherer {
	apimetrics.Register()
	cachermetrics.Register()
	handlermetrics.Register()
	storagemetrics.Register()
	return prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
		all, err := legacyregistry.DefaultGatherer.Gather()
		return slices.DeleteFunc(all, func(f *dto.MetricFamily) bool {
			return strings.HasPrefix(f.GetName(), "go_") || strings.HasPrefix(f.GetName(), "process_")
		}), err
	})
}
