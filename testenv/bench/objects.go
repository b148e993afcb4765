package bench

import "fmt"

type object = map[string]any

const configMapsPath, deploymentsPath = "/api/v1/namespaces/%s/configmaps", "/apis/apps/v1/namespaces/%s/deployments"

func configMaps(ns string) string  { return fmt.Sprintf(configMapsPath, ns) }
func deployments(ns string) string { return fmt.Sprintf(deploymentsPath, ns) }
func pods(ns string) string        { return "/api/v1/namespaces/" + ns + "/pods" }
func gauges(ns string) string      { return "/apis/bench.example.com/v1/namespaces/" + ns + "/gauges" }

func configMap(name string) object {
	return object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": object{"name": name}, "data": object{
		"application.properties": "server.port=8080\nlog.level=info\ncache.size=512\nname=" + name + "\n"}}
}

func deployment(name string, replicas int) object {
	labels := object{"app": name}
	return object{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": object{"name": name, "labels": labels},
		"spec": object{
			"replicas": replicas, "selector": object{"matchLabels": labels},
			"template": object{"metadata": object{"labels": labels}, "spec": object{"containers": []any{object{
				"name": "app", "image": "registry.example.com/team/" + name + ":1.4.2",
				"args":           []any{"--config=/etc/app/config.yaml"},
				"ports":          []any{object{"name": "http", "containerPort": 8080}},
				"env":            []any{object{"name": "REGION", "value": "eu-west"}, object{"name": "LOG_LEVEL", "value": "info"}},
				"resources":      object{"requests": object{"cpu": "10m", "memory": "16Mi"}, "limits": object{"memory": "64Mi"}},
				"readinessProbe": object{"httpGet": object{"path": "/healthz", "port": "http"}, "periodSeconds": 5},
			}}}}}}
}

// gaugeKind names the custom resource whose status is measured.
const gaugeKind = "gauges.bench.example.com"

func gaugeCRD() object {
	free := object{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
	return object{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": object{"name": gaugeKind},
		"spec": object{"group": "bench.example.com", "scope": "Namespaced",
			"names": object{"plural": "gauges", "singular": "gauge", "kind": "Gauge", "listKind": "GaugeList"},
			"versions": []any{object{"name": "v1", "served": true, "storage": true, "subresources": object{"status": object{}},
				"schema": object{"openAPIV3Schema": object{"type": "object", "properties": object{"spec": free,
					"status": free}}}}}}}
}

func gauge(name string) object {
	return object{"apiVersion": "bench.example.com/v1", "kind": "Gauge", "metadata": object{"name": name},
		"spec": object{"of": name}}
}
