package apiserver

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/component-base/metrics"
	"k8s.io/kubernetes/pkg/api/legacyscheme"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// resourceMetrics are those of Kubernetes' libraries that name the resource of a request.
var resourceMetrics = []string{
	"apiserver_cache_list_fetched_objects_total",
	"apiserver_cache_list_returned_objects_total",
	"apiserver_cache_list_total",
	"apiserver_init_events_total",
	"apiserver_longrunning_requests",
	"apiserver_request_aborts_total",
	"apiserver_request_body_size_bytes",
	"apiserver_request_duration_seconds",
	"apiserver_request_sli_duration_seconds",
	"apiserver_request_terminations_total",
	"apiserver_request_total",
	"apiserver_requested_deprecated_apis",
	"apiserver_resource_objects",
	"apiserver_resource_size_estimate_bytes",
	"apiserver_response_sizes",
	"apiserver_selfrequest_total",
	"apiserver_storage_consistency_checks_total",
	"apiserver_storage_decode_errors_total",
	"apiserver_storage_events_received_total",
	"apiserver_storage_list_duration_seconds",
	"apiserver_storage_list_evaluated_objects_total",
	"apiserver_storage_list_fetched_objects_total",
	"apiserver_storage_list_returned_objects_total",
	"apiserver_storage_list_total",
	"apiserver_storage_objects",
	"apiserver_terminated_watchers_total",
	"apiserver_watch_cache_consistent_read_total",
	"apiserver_watch_cache_events_dispatched_total",
	"apiserver_watch_cache_events_received_total",
	"apiserver_watch_cache_initialization_duration_seconds",
	"apiserver_watch_cache_initialization_errors_total",
	"apiserver_watch_cache_initializations_total",
	"apiserver_watch_cache_read_wait_seconds",
	"apiserver_watch_cache_resource_version",
	"apiserver_watch_events_dispatch_duration_seconds",
	"apiserver_watch_events_sizes",
	"apiserver_watch_events_total",
	"apiserver_watch_filtered_events_total",
	"apiserver_watch_list_duration_seconds",
	"apiserver_watch_shards_total",
	"etcd_bookmark_counts",
	"etcd_bookmark_total",
	"etcd_request_duration_seconds",
	"etcd_request_errors_total",
	"etcd_requests_total",
	"watch_cache_capacity",
	"watch_cache_capacity_decrease_total",
	"watch_cache_capacity_increase_total",
}

// ruleMetrics are those that name admission policies and webhooks, or definitions.
var ruleMetrics = []string{
	"apiserver_admission_match_condition_evaluation_errors_total",
	"apiserver_admission_match_condition_evaluation_seconds",
	"apiserver_admission_match_condition_exclusions_total",
	"apiserver_admission_webhook_admission_duration_seconds",
	"apiserver_admission_webhook_fail_open_count",
	"apiserver_admission_webhook_rejection_count",
	"apiserver_admission_webhook_request_total",
	"apiserver_crd_conversion_webhook_duration_seconds",
	"apiserver_crd_webhook_conversion_duration_seconds",
	"apiserver_mutating_admission_policy_check_duration_seconds",
	"apiserver_mutating_admission_policy_check_total",
	"apiserver_validating_admission_policy_check_duration_seconds",
	"apiserver_validating_admission_policy_check_total",
}

// What users of spaces name themselves is "unexpected" in the metrics, all of it together: a series of
// the process never ends, and there would be as many as somebody makes up. Upstream has an allow list
// of the process for that.
func init() { metrics.SetLabelAllowList(knownLabels()) }

// knownLabels returns the values of labels that are no user's: METRIC,LABEL -> VALUE,VALUE.
func knownLabels() map[string]string {
	groups := sets.New("", "metrics.k8s.io", "apiextensions.k8s.io", v1alpha1.FleetGroup, v1alpha1.GroupVersion.Group)
	versions := sets.New("", v1alpha1.GroupVersion.Version)
	resources := sets.New("", "customresourcedefinitions", "clusterprofiles", "placementdecisions")
	for kind := range legacyscheme.Scheme.AllKnownTypes() {
		groups.Insert(kind.Group)
		versions.Insert(kind.Version)
		plural, _ := meta.UnsafeGuessKindToResource(kind)
		resources.Insert(plural.Resource)
	}
	own, err := v1alpha1.CRDs.ReadDir("crds") // skerry.dev_RESOURCE.yaml
	if err != nil {
		panic(err) // it is embedded
	}
	for _, file := range own {
		_, name, _ := strings.Cut(file.Name(), "_")
		resources.Insert(strings.TrimSuffix(name, ".yaml"))
	}
	known := map[string]string{}
	for _, m := range resourceMetrics {
		known[m+",group"] = strings.Join(sets.List(groups), ",")
		known[m+",version"] = strings.Join(sets.List(versions), ",")
		known[m+",resource"] = strings.Join(sets.List(resources), ",")
	}
	for _, m := range ruleMetrics {
		for _, label := range []string{"name", "policy", "policy_binding", "crd_name", "from_version", "to_version"} {
			known[m+","+label] = ""
		}
	}
	return known
}
