package doctor

import "skerry.dev/skerry/tunnel/doctor"

// What can be wrong at a site.
var (
	identityDamaged = doctor.Fault{Name: "identity-damaged",
		Means: "The files of the site's identity (agent.key, agent.crt, ca.crt) cannot be used.",
		Fix:   "restore them from a backup; or release the site at the center and join again with a new token"}
	directoryOfCenter = doctor.Fault{Name: "directory-of-center",
		Means: "The data directory is a center's: the agent does not start there.",
		Fix:   "give the agent a data directory of its own with data-dir:"}
	alreadyRunning = doctor.Fault{Name: "already-running",
		Means: "Another process than the service runs on this data directory, so the service cannot start.",
		Fix:   "stop that process, or give it a data directory of its own"}
	storeDamaged = doctor.Fault{Name: "store-damaged",
		Means: "agent.db is damaged.",
		Fix: "start the agent, or run skerry agent check --repair: what is lost is asked of the parent, and nothing " +
			"is deleted"}
	storeKeys = doctor.Fault{Name: "store-keys",
		Means: "The key that opens the Secrets in agent.db is missing or another one.",
		Fix:   "restore the key's file; or run skerry agent check --repair, and Secrets are asked of the parent again"}
	storeNewer = doctor.Fault{Name: "store-newer",
		Means: "agent.db was written by a newer version of Skerry.",
		Fix:   "install that version again, or move agent.db away: it is filled from target and parent"}

	kubeconfigUnusable = doctor.Fault{Name: "kubeconfig-unusable",
		Means: "The kubeconfig of the workload cluster is missing or cannot be read.",
		Fix:   "name a kubeconfig that exists with kubeconfig:, readable by the agent"}
	targetDown = doctor.Fault{Name: "target-unreachable",
		Means: "The workload cluster's API does not answer.",
		Fix:   "see whether the cluster's API server runs, and listens where the kubeconfig says"}
	targetOverloaded = doctor.Fault{Name: "target-overloaded",
		Means: "The workload cluster's API refuses requests because it has too many (429).",
		Fix:   "see what else asks so much of the cluster's API server"}
	targetFailing = doctor.Fault{Name: "target-failing",
		Means: "The workload cluster's API answers with errors of its own (500 to 599).",
		Fix:   "look at the log of the cluster's API server and at its etcd"}
	targetCertificate = doctor.Fault{Name: "target-certificate",
		Means: "The certificate of the workload cluster's API is not the one that the kubeconfig expects.",
		Fix:   "give the agent a fresh kubeconfig of the cluster"}
	targetNotKubernetes = doctor.Fault{Name: "target-not-kubernetes",
		Means: "What answers at the address of the workload cluster is no Kubernetes API.",
		Fix:   "correct the server's address in the kubeconfig"}
	targetUnauthorized = doctor.Fault{Name: "target-unauthorized",
		Means: "The workload cluster does not accept the agent's credentials (401).",
		Fix:   "give the agent a kubeconfig whose credentials the cluster accepts"}
	targetIsCenter = doctor.Fault{Name: "target-is-center",
		Means: "The kubeconfig leads to a Skerry center, and an agent stands beside a workload cluster.",
		Fix:   "name the workload cluster's kubeconfig with kubeconfig:; a center joins another one as a relay (parent:)"}
	targetOther = doctor.Fault{Name: "target-other-cluster",
		Means: "The kubeconfig leads to another cluster than this site's: the agent would make everything there anew.",
		Fix: "give the agent the kubeconfig of its own cluster; if that was set up anew, start the agent: it fills the " +
			"new one"}
	targetWebhook = doctor.Fault{Name: "target-webhook-down",
		Means: "Nothing answers an admission webhook of the workload cluster, so the cluster refuses what is placed.",
		Fix:   "start what is behind its Service, or delete its configuration"}
	targetNoNode = doctor.Fault{Name: "target-no-node-ready",
		Means: "No node of the workload cluster is ready: objects are applied, and nothing runs.",
		Fix:   "see why: kubectl describe nodes, and the log of the kubelet (or k3s) on them"}
	targetForbidden = doctor.Fault{Name: "target-forbidden",
		Means: "The agent lacks rights at the workload cluster (403).",
		Fix:   "give it the rights that it needs: skerry agent rbac | kubectl apply -f -"}
	targetTooOld = doctor.Fault{Name: "target-too-old",
		Means: "The workload cluster's Kubernetes is older than Skerry supports.",
		Fix:   "upgrade the cluster to Kubernetes 1.25 or newer"}

	twoAgents = doctor.Fault{Name: "two-agents",
		Means: "Two agents with the identity of this site take turns: one is a copy of the other.",
		Fix:   "stop the copy, remove its data directory, and let it join with a token and a name of its own"}
	centerRegressed = doctor.Fault{Name: "center-regressed",
		Means: "The center's data is not what this site's came from (restored, or set up anew): the site holds everything.",
		Fix:   "see what accepting would do, at the center: skerry target accept NAME --dry-run"}
	deletionsHeld = doctor.Fault{Name: "deletions-held",
		Means: "More is to be deleted here than the site does unasked, so deletions wait.",
		Fix:   "see what would be deleted, at the center: skerry target accept NAME --dry-run"}
	certificateFailing = doctor.Fault{Name: "certificate-not-renewed",
		Means: "The parent is reached, and the site's certificate cannot be renewed.",
		Fix:   "read why in the agent's log: journalctl -u skerry-agent"}
	storeRefilling = doctor.Fault{Name: "store-refilling",
		Means: "agent.db was lost and is being filled again: until then nothing on the target is touched.",
		Fix:   "wait; if it does not end, see whether target and parent are reached"}
	clusterReplaced = doctor.Fault{Name: "cluster-replaced",
		Means: "The workload cluster is another one than before the last start.",
		Fix:   "if that was not meant, give the agent the kubeconfig of the old one"}
	leaseEnded = doctor.Fault{Name: "lease-ended",
		Means: "The site has not heard its parent for the duration of its lease, or has rebooted since: what must not " +
			"run twice is stopped.",
		Fix: "mend the way to the parent; it starts again by itself once the site has all that is placed on it"}
	protocolSkew = doctor.Fault{Name: "version-skew-protocol",
		Means: "The parent refuses the session: the two speak different versions of the protocol.",
		Fix:   "upgrade the older of the two, the parent first"}
	sessionRefused = doctor.Fault{Name: "session-refused",
		Means: "The parent is reached and answers, and the agent has no session.",
		Fix:   "do what the parent's words say; the agent's log has all of them: journalctl -u skerry-agent"}
)
