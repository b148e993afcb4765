package summary

import (
	"maps"
	"slices"

	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/store"
)

// A Job on several targets has ended when it has on all: Failed where it has failed on one, Complete where
// it is complete on all. Before that FailureTarget says that it fails, as upstream's controller does
// while Pods of a Job that fails still run (ValidateJobStatusUpdate of Kubernetes): a terminal condition
// never goes, and the Job's ttl begins with it.

func isJob(k store.Key) bool { return k.Group == "batch" && k.Resource == "jobs" }

// ended reports whether a status of a Job is terminal.
func ended(status map[string]any) bool { return says(status, "Complete") || says(status, "Failed") }

func says(status map[string]any, kind string) bool {
	return slices.ContainsFunc(fields.List(status, "conditions"), func(one any) bool {
		c, _ := one.(map[string]any)
		return c["type"] == kind && c["status"] == "True"
	})
}

// aboutToFail is a status of a Job in which FailureTarget stands beside Failed.
func aboutToFail(status map[string]any) map[string]any {
	list := fields.List(status, "conditions")
	var out []any
	for _, one := range list {
		if c, _ := one.(map[string]any); c["type"] == "Failed" && c["status"] == "True" {
			target := maps.Clone(c)
			target["type"] = "FailureTarget"
			out = append(out, target)
		}
	}
	if len(out) == 0 {
		return status
	}
	next := maps.Clone(status)
	next["conditions"] = append(out, list...)
	return next
}

// unended takes the terminal conditions out of a status of a Job that has not ended everywhere.
func unended(status map[string]any) {
	list := slices.DeleteFunc(slices.Clone(fields.List(status, "conditions")), func(one any) bool {
		c, _ := one.(map[string]any)
		return c["type"] == "Complete" || c["type"] == "Failed"
	})
	if status["conditions"] = list; len(list) == 0 {
		delete(status, "conditions")
	}
}
