package main

import (
	"encoding/base64"
	"fmt"
	"math/rand"
	"time"
)

type object = map[string]any

type list = []any

// generator makes applications as people write them: names, labels, images and sizes differ, the
// fields do not.
type generator struct{ *rand.Rand }

func (g *generator) pick(words ...string) string { return words[g.Intn(len(words))] }

func (g *generator) letters(n int) string {
	const alphabet = "bcdfghjklmnpqrstvwxz2456789"
	b := make([]byte, n)
	for i := range b {
		b[i] = alphabet[g.Intn(len(alphabet))]
	}
	return string(b)
}

func (g *generator) hex(n int) string {
	b := make([]byte, n)
	g.Read(b)
	return fmt.Sprintf("%x", b)[:n]
}

func (g *generator) uid() string {
	return g.hex(8) + "-" + g.hex(4) + "-4" + g.hex(3) + "-a" + g.hex(3) + "-" + g.hex(12)
}

func (g *generator) time() string {
	return time.Unix(1764000000+g.Int63n(40000000), 0).UTC().Format(time.RFC3339)
}

func (g *generator) ip() string {
	return fmt.Sprintf("10.%d.%d.%d", 42+g.Intn(4), g.Intn(256), 1+g.Intn(254))
}

// app is one application: its desired objects, and the reports that come back.
func (g *generator) app() []any {
	a := &app{
		generator: g,
		space:     g.pick("shop", "team-a", "root", "web", "platform"),
		namespace: g.pick("shop", "default", "prod", "web", "backend"),
		name: g.pick(
			"web",
			"api",
			"frontend",
			"backend",
			"nginx",
			"redis",
			"postgres",
			"worker",
		) + g.pick(
			"",
			"-v2",
			"-"+g.letters(3),
		),
	}
	a.image = g.pick(
		"nginx:1.27",
		"docker.io/library/redis:7",
		"registry.example.com/shop/"+a.name+":v1."+fmt.Sprint(g.Intn(9)),
		"ghcr.io/org/"+a.name+":latest",
	)
	a.port = []int{80, 8080, 443, 6379, 5432, 9090}[g.Intn(6)]
	deployment := a.deployment()
	out := []any{
		deployment,
		a.service(),
		a.configMap(),
		a.secret(),
		a.key("apps", "deployments"),
		a.key("", "configmaps"),
		a.key("", "pods"),
		a.key("", "services"),
	}
	out = append(out, a.statusReport(deploymentStatus(a), 1), a.appliedReport())
	for range 3 {
		out = append(out, a.podReport(true), a.podReport(false))
	}
	switch g.Intn(4) {
	case 0:
		out = append(out, a.statefulSet(), a.key("apps", "statefulsets"), a.statusReport(statefulSetStatus(a), 1))
	case 1:
		out = append(
			out,
			a.ingress(),
			a.key("networking.k8s.io", "ingresses"),
			a.key("", "persistentvolumeclaims"),
			a.claim(),
		)
	case 2:
		out = append(out, a.job(), a.key("batch", "jobs"), a.namespaceObject(), a.key("", "namespaces"))
	case 3:
		out = append(
			out,
			a.crd(),
			a.key("apiextensions.k8s.io", "customresourcedefinitions"),
			a.failedReport(),
			a.key("", "serviceaccounts"),
		)
	}
	return out
}

type app struct {
	*generator
	space, namespace, name, image string
	port                          int
}

func (a *app) key(group, resource string) string {
	return a.space + "/" + group + "/" + resource + "/" + a.namespace + "/" + a.name + a.pick(
		"",
		"-config",
		"-"+a.letters(9)+"-"+a.letters(5),
	)
}

func (a *app) meta(namespace string, extra object) object {
	m := object{
		"name":        a.name,
		"labels":      a.labels(),
		"annotations": object{"skerry.dev/origin": a.space + "/", "skerry.dev/origin-uid": a.uid()},
	}
	if namespace != "" {
		m["namespace"] = namespace
	}
	for k, v := range extra {
		m[k] = v
	}
	return m
}

func (a *app) labels() object {
	if a.Intn(3) == 0 {
		return object{
			"app.kubernetes.io/name":       a.name,
			"app.kubernetes.io/instance":   a.name,
			"app.kubernetes.io/version":    "1.0",
			"app.kubernetes.io/managed-by": "Helm",
		}
	}
	return object{"app": a.name}
}

func (a *app) deployment() object {
	return object{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": a.meta(a.namespace, nil), "spec": object{
		"progressDeadlineSeconds": 600, "replicas": 1 + a.Intn(5), "revisionHistoryLimit": 10,
		"selector": object{"matchLabels": object{"app": a.name}},
		"strategy": object{
			"rollingUpdate": object{"maxSurge": "25%", "maxUnavailable": "25%"},
			"type":          "RollingUpdate",
		},
		"template": a.template()}}
}

func (a *app) template() object {
	return object{"metadata": object{"creationTimestamp": nil, "labels": object{"app": a.name}}, "spec": object{
		"containers": list{
			a.container(),
		}, "dnsPolicy": "ClusterFirst", "restartPolicy": "Always", "schedulerName": "default-scheduler",
		"securityContext": object{}, "terminationGracePeriodSeconds": 30}}
}

func (a *app) container() object {
	c := object{
		"name":                     a.pick(a.name, "app", "server"),
		"image":                    a.image,
		"imagePullPolicy":          a.pick("IfNotPresent", "Always"),
		"resources":                object{},
		"terminationMessagePath":   "/dev/termination-log",
		"terminationMessagePolicy": "File",
	}
	if a.Intn(2) == 0 {
		c["ports"] = list{object{"containerPort": a.port, "name": "http", "protocol": "TCP"}}
	}
	if a.Intn(2) == 0 {
		c["resources"] = object{
			"limits":   object{"cpu": "500m", "memory": "256Mi"},
			"requests": object{"cpu": "100m", "memory": "128Mi"},
		}
	}
	if a.Intn(3) == 0 {
		c["env"] = list{object{"name": a.pick("LOG_LEVEL", "DATABASE_URL", "PORT"), "value": a.pick("info", "8080")},
			object{
				"name":      "POD_NAME",
				"valueFrom": object{"fieldRef": object{"apiVersion": "v1", "fieldPath": "metadata.name"}},
			},
			object{"name": "PASSWORD", "valueFrom": object{"secretKeyRef": object{"name": a.name, "key": "password"}}}}
		c["envFrom"] = list{object{"configMapRef": object{"name": a.name}}}
	}
	if a.Intn(3) == 0 {
		probe := object{
			"failureThreshold": 3,
			"httpGet":          object{"path": "/healthz", "port": a.port, "scheme": "HTTP"},
			"periodSeconds":    10,
			"successThreshold": 1,
			"timeoutSeconds":   1,
		}
		c["livenessProbe"], c["readinessProbe"] = probe, probe
	}
	if a.Intn(3) == 0 {
		c["args"] = list{"--config=/etc/config/config.yaml", "--v=2"}
		c["volumeMounts"] = list{
			object{"mountPath": "/etc/config", "name": "config", "readOnly": true},
			object{"mountPath": "/data", "name": "data"},
		}
	}
	return c
}

func (a *app) service() object {
	return object{
		"apiVersion": "v1",
		"kind":       "Service",
		"metadata":   a.meta(a.namespace, nil),
		"spec": object{"internalTrafficPolicy": "Cluster",
			"ports": list{
				object{"name": "http", "port": a.port, "protocol": "TCP", "targetPort": a.port},
			}, "selector": object{"app": a.name}, "sessionAffinity": "None", "type": "ClusterIP"},
	}
}

func (a *app) configMap() object {
	return object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": a.meta(a.namespace, nil), "data": object{
		"config.yaml":                       "server:\n  port: 8080\n  host: 0.0.0.0\nlog:\n  level: info\n",
		a.pick("key", "mode", "index.html"): a.letters(8)}}
}

func (a *app) secret() object {
	return object{"apiVersion": "v1", "kind": "Secret", "metadata": a.meta(a.namespace, nil), "type": "Opaque",
		"data": object{"password": base64.StdEncoding.EncodeToString([]byte(a.letters(16))), "username": "YWRtaW4="}}
}

func (a *app) statefulSet() object {
	return object{"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": a.meta(a.namespace, nil), "spec": object{
		"persistentVolumeClaimRetentionPolicy": object{
			"whenDeleted": "Retain",
			"whenScaled":  "Retain",
		}, "podManagementPolicy": "OrderedReady", "replicas": 1 + a.Intn(3),
		"revisionHistoryLimit": 10, "selector": object{"matchLabels": object{"app": a.name}},
		"serviceName": a.name, "template": a.template(),
		"updateStrategy": object{"rollingUpdate": object{"partition": 0}, "type": "RollingUpdate"},
		"volumeClaimTemplates": list{
			object{
				"apiVersion": "v1",
				"kind":       "PersistentVolumeClaim",
				"metadata":   object{"creationTimestamp": nil, "name": "data"},
				"spec":       claimSpec(),
				"status":     object{"phase": "Pending"},
			},
		}}}
}

func claimSpec() object {
	return object{
		"accessModes": list{"ReadWriteOnce"},
		"resources":   object{"requests": object{"storage": "1Gi"}},
		"volumeMode":  "Filesystem",
	}
}

func (a *app) claim() object {
	return object{
		"apiVersion": "v1",
		"kind":       "PersistentVolumeClaim",
		"metadata":   a.meta(a.namespace, nil),
		"spec":       claimSpec(),
	}
}

func (a *app) ingress() object {
	return object{
		"apiVersion": "networking.k8s.io/v1",
		"kind":       "Ingress",
		"metadata":   a.meta(a.namespace, nil),
		"spec": object{"ingressClassName": "nginx", "rules": list{object{
			"host": a.name + ".example.com",
			"http": object{"paths": list{
				object{"backend": object{
					"service": object{"name": a.name, "port": object{"number": a.port}}}, "path": "/", "pathType": "Prefix"}}}}}},
	}
}

func (a *app) job() object {
	t := a.template()
	t["spec"].(object)["restartPolicy"] = "Never"
	return object{
		"apiVersion": "batch/v1",
		"kind":       "Job",
		"metadata":   a.meta(a.namespace, nil),
		"spec": object{"backoffLimit": 6, "completionMode": "NonIndexed", "completions": 1,
			"manualSelector": false, "parallelism": 1, "podReplacementPolicy": "TerminatingOrFailed",
			"suspend": false, "template": t},
	}
}

func (a *app) namespaceObject() object {
	return object{
		"apiVersion": "v1",
		"kind":       "Namespace",
		"metadata":   a.meta("", object{"labels": object{"kubernetes.io/metadata.name": a.namespace}}),
		"spec":       object{"finalizers": list{"kubernetes"}},
	}
}

func (a *app) crd() object {
	return object{
		"apiVersion": "apiextensions.k8s.io/v1",
		"kind":       "CustomResourceDefinition",
		"metadata":   a.meta("", nil),
		"spec": object{
			"conversion": object{
				"strategy": "None",
			}, "group": "stable.example.com",
			"names": object{"kind": "CronTab", "listKind": "CronTabList", "plural": "crontabs",
				"singular": "crontab"}, "scope": "Namespaced",
			"versions": list{
				object{
					"name": "v1",
					"schema": object{
						"openAPIV3Schema": object{
							"properties": object{
								"spec": object{
									"properties": object{
										"image":    object{"type": "string"},
										"replicas": object{"type": "integer"},
									},
									"type": "object",
								},
								"status": object{
									"type":                                 "object",
									"x-kubernetes-preserve-unknown-fields": true,
								},
							},
							"type": "object",
						},
					},
					"served":       true,
					"storage":      true,
					"subresources": object{"status": object{}},
				},
			}},
	}
}
