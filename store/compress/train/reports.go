package main

import "encoding/json"

// report has the member order of store.Report, which the dictionary must have seen.
type report struct {
	UID        string `json:"uid,omitempty"`
	Generation int64  `json:"gen,omitempty"`
	Applied    string `json:"applied,omitempty"`
	Status     any    `json:"status,omitempty"`
	Object     any    `json:"object,omitempty"`
	Error      any    `json:"error,omitempty"`
	At         int64  `json:"at,omitempty"`
}

// pod, metadata and owner have the member order of a reported Pod.
type pod struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Metadata   metadata `json:"metadata"`
	Spec       any      `json:"spec,omitempty"`
}

type metadata struct {
	Name              string `json:"name,omitempty"`
	Namespace         string `json:"namespace,omitempty"`
	CreationTimestamp string `json:"creationTimestamp,omitempty"`
	Labels            object `json:"labels,omitempty"`
	OwnerReferences   []any  `json:"ownerReferences,omitempty"`
}

type owner struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	UID        string `json:"uid"`
	Controller bool   `json:"controller,omitempty"`
}

func (a *app) at() int64 { return 1764000000000 + a.Int63n(40000000000) }

func (a *app) statusReport(status object, generation int64) report {
	return report{UID: a.uid(), Generation: generation, Applied: a.hex(32), Status: status, At: a.at()}
}

func (a *app) appliedReport() report {
	return report{UID: a.uid(), Generation: 1, Applied: a.hex(32), At: a.at()}
}

func (a *app) failedReport() report {
	r := a.appliedReport()
	r.Error = json.RawMessage(
		`{"reason":"Forbidden","message":"deployments.apps \"` + a.name + `\" is forbidden: exceeded quota: compute"}`,
	)
	return r
}

func condition(kind, status, reason, message, at string) object {
	c := object{"lastTransitionTime": at, "status": status, "type": kind}
	if reason != "" {
		c["reason"], c["message"] = reason, message
	}
	return c
}

func deploymentStatus(a *app) object {
	n := 1 + a.Intn(5)
	available := condition(
		"Available",
		"True",
		"MinimumReplicasAvailable",
		"Deployment has minimum availability.",
		a.time(),
	)
	progressing := condition(
		"Progressing",
		"True",
		"NewReplicaSetAvailable",
		"ReplicaSet \""+a.name+"-"+a.letters(9)+"\" has successfully progressed.",
		a.time(),
	)
	if a.Intn(2) == 0 {
		available = condition(
			"Available",
			"False",
			"MinimumReplicasUnavailable",
			"Deployment does not have minimum availability.",
			a.time(),
		)
		progressing = condition(
			"Progressing",
			"True",
			"ReplicaSetUpdated",
			"ReplicaSet \""+a.name+"-"+a.letters(9)+"\" is progressing.",
			a.time(),
		)
		available["lastUpdateTime"], progressing["lastUpdateTime"] = a.time(), a.time()
		return object{
			"conditions":          list{available, progressing},
			"observedGeneration":  1,
			"replicas":            n,
			"unavailableReplicas": n,
			"updatedReplicas":     n,
		}
	}
	available["lastUpdateTime"], progressing["lastUpdateTime"] = a.time(), a.time()
	return object{
		"availableReplicas":  n,
		"conditions":         list{available, progressing},
		"observedGeneration": 1,
		"readyReplicas":      n,
		"replicas":           n,
		"updatedReplicas":    n,
	}
}

func statefulSetStatus(a *app) object {
	n := 1 + a.Intn(3)
	revision := a.name + "-" + a.letters(9)
	return object{
		"availableReplicas":  n,
		"collisionCount":     0,
		"currentReplicas":    n,
		"currentRevision":    revision,
		"observedGeneration": 1,
		"readyReplicas":      n,
		"replicas":           n,
		"updateRevision":     revision,
		"updatedReplicas":    n,
	}
}

func (a *app) podReport(ready bool) report {
	origin := a.uid()
	owner := owner{"apps/v1", a.pick("Deployment", "StatefulSet"), a.name, origin, true}
	token := "kube-api-access-" + a.letters(5)
	container := a.container()
	container["volumeMounts"] = list{
		object{"mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "name": token, "readOnly": true},
	}
	hash := a.letters(9)
	pod := pod{
		"v1",
		"Pod",
		metadata{
			a.name + "-" + hash + "-" + a.letters(5),
			a.namespace,
			a.time(),
			object{"app": a.name, "pod-template-hash": hash},
			[]any{owner},
		},
		object{
			"containers":                    list{container},
			"dnsPolicy":                     "ClusterFirst",
			"enableServiceLinks":            true,
			"nodeName":                      a.pick("node-", "worker-", "kwok-node-") + a.pick("0", "1", "2"),
			"preemptionPolicy":              "PreemptLowerPriority",
			"priority":                      0,
			"restartPolicy":                 "Always",
			"schedulerName":                 "default-scheduler",
			"securityContext":               object{},
			"serviceAccount":                "default",
			"serviceAccountName":            "default",
			"terminationGracePeriodSeconds": 30,
			"tolerations": list{
				toleration("node.kubernetes.io/not-ready"),
				toleration("node.kubernetes.io/unreachable"),
			},
			"volumes": list{
				object{
					"name": token,
					"projected": object{
						"defaultMode": 420,
						"sources": list{
							object{"serviceAccountToken": object{"expirationSeconds": 3607, "path": "token"}},
							object{
								"configMap": object{
									"items": list{object{"key": "ca.crt", "path": "ca.crt"}},
									"name":  "kube-root-ca.crt",
								},
							},
							object{
								"downwardAPI": object{
									"items": list{
										object{
											"fieldRef": object{"apiVersion": "v1", "fieldPath": "metadata.namespace"},
											"path":     "namespace",
										},
									},
								},
							},
						},
					},
				},
			},
		},
	}
	return report{UID: origin, Status: a.podStatus(container, ready), Object: pod, At: a.at()}
}

func toleration(key string) object {
	return object{"effect": "NoExecute", "key": key, "operator": "Exists", "tolerationSeconds": 300}
}

func (a *app) podStatus(container object, ready bool) object {
	at, later, ip := a.time(), a.time(), a.ip()
	types := []string{"PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"}
	conditions := list{}
	for _, t := range types {
		c := condition(t, "True", "", "", at)
		if !ready && (t == "Ready" || t == "ContainersReady") {
			c = condition(t, "False", "ContainersNotReady", "containers with unready status: ["+a.name+"]", at)
		}
		c["lastProbeTime"], c["observedGeneration"] = nil, 1
		conditions = append(conditions, c)
	}
	state := object{"running": object{"startedAt": later}}
	status := object{
		"conditions":         conditions,
		"hostIP":             a.ip(),
		"hostIPs":            list{object{"ip": a.ip()}},
		"observedGeneration": 1,
		"phase":              "Running",
		"podIP":              ip,
		"podIPs":             list{object{"ip": ip}},
		"qosClass":           a.pick("BestEffort", "Burstable"),
		"startTime":          at,
	}
	image := object{
		"image":        container["image"],
		"imageID":      "",
		"lastState":    object{},
		"name":         container["name"],
		"ready":        ready,
		"resources":    container["resources"],
		"restartCount": a.Intn(3),
		"started":      ready,
		"state":        state,
		"volumeMounts": list{
			object{
				"mountPath":         "/var/run/secrets/kubernetes.io/serviceaccount",
				"name":              "kube-api-access-" + a.letters(5),
				"readOnly":          true,
				"recursiveReadOnly": "Disabled",
			},
		},
	}
	if !ready && a.Intn(2) == 0 {
		image["state"] = object{
			"waiting": object{
				"reason":  a.pick("ContainerCreating", "CrashLoopBackOff", "ImagePullBackOff"),
				"message": "back-off 10s restarting failed container=" + a.name,
			},
		}
		image["lastState"] = object{
			"terminated": object{
				"containerID": "containerd://" + a.hex(64),
				"exitCode":    1,
				"finishedAt":  a.time(),
				"reason":      a.pick("Error", "Completed", "OOMKilled"),
				"startedAt":   a.time(),
			},
		}
		status["phase"] = "Pending"
	} else {
		image["containerID"], image["imageID"] = "containerd://"+a.hex(64), "sha256:"+a.hex(64)
	}
	status["containerStatuses"] = list{image}
	return status
}
