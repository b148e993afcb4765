package doctor

import "skerry.dev/skerry/tunnel/doctor"

// What can be wrong with a center.
var (
	directoryInUse = doctor.Fault{Name: "directory-in-use",
		Means: "A center runs on this data directory and does not listen where this configuration says.",
		Fix: "if that is the center you mean: give the doctor its --config or --listen; " +
			"else stop that process, or give each center a data directory of its own"}
	directoryOfAgent = doctor.Fault{Name: "directory-of-agent",
		Means: "The data directory is an agent's: the center does not start there.",
		Fix:   "give the center a data directory of its own with data-dir:"}
	portTaken = doctor.Fault{Name: "port-taken",
		Means: "Another process listens on the center's port, so the center cannot start.",
		Fix:   "stop that process, or choose another port with listen:"}
	listenInvalid = doctor.Fault{Name: "listen-invalid",
		Means: "The center's listen address cannot be read, or is not this machine's.",
		Fix:   "write listen: HOST:PORT with an address of this machine, or 0.0.0.0:7443"}
	keysDamaged = doctor.Fault{Name: "keys-damaged",
		Means: "Keys of the center are missing or damaged; it does not start, since new ones would lock everybody out.",
		Fix:   "restore the directory pki from a backup: skerry center restore"}
	authorityExpired = doctor.Fault{Name: "authority-expired",
		Means: "The center's certificate authority has expired.",
		Fix:   "replace it: skerry ca rotate"}
	databaseDamaged = doctor.Fault{Name: "database-damaged",
		Means: "The center's database is damaged.",
		Fix:   "stop the center, move its data directory away, and restore the last backup: skerry center restore"}
	datastoreDown = doctor.Fault{Name: "datastore-unreachable",
		Means: "The datastore that the center's replicas share cannot be reached.",
		Fix:   "see whether it runs, and let this machine reach the host and port of datastore-endpoint:"}
	datastoreRefuses = doctor.Fault{Name: "datastore-refuses",
		Means: "The datastore answers, and does not accept the center's user, password, certificate or rights.",
		Fix: "correct user and password in datastore-endpoint:, or datastore-cert-file:; or give that user its rights " +
			"at the datastore"}
	datastoreCrowded = doctor.Fault{Name: "datastore-crowded",
		Means: "The datastore gives the center no connection: all that it allows are in use.",
		Fix:   "raise max_connections of the PostgreSQL, or end what else uses them"}
	datastoreFull = doctor.Fault{Name: "datastore-full",
		Means: "The datastore has no space left: the center reads, and nothing can be written.",
		Fix: "give its disk more space; for etcd: etcdctl defrag on each member, or a larger --quota-backend-bytes, " +
			"and then etcdctl alarm disarm"}
	datastoreReadOnly = doctor.Fault{Name: "datastore-read-only",
		Means: "The datastore answers and takes no writes: it is a standby, or an etcd cluster without a leader.",
		Fix: "name the primary in datastore-endpoint:, or promote this one; for etcd: start the members that are " +
			"missing"}
	databaseLocked = doctor.Fault{Name: "database-locked",
		Means: "Another program keeps the center's database locked, so the center cannot start.",
		Fix:   "end that program, and never open state.db of a center with another one"}
	encryptionKeyMissing = doctor.Fault{Name: "encryption-key-missing",
		Means: "The key that encrypts this center's Secrets is missing or another one; the center does not start.",
		Fix:   "put the key back where it was, from a backup (pki/encryption-keys is in it) or from where it is kept"}
	nameMissing = doctor.Fault{Name: "name-not-in-certificate",
		Means: "The center's certificate lacks a name of advertise:, so clients that use it refuse the center.",
		Fix:   "restart the center: systemctl restart skerry-center; it issues its certificate when it starts"}
	backupUnwritable = doctor.Fault{Name: "backup-unwritable",
		Means: "The center cannot write to the directory of its backups, so there are no new ones.",
		Fix: "mount or make that directory, and give it to the service: chown skerry: DIR, and ReadWritePaths= in a " +
			"drop-in of the unit"}
	backupOverdue = doctor.Fault{Name: "backup-overdue",
		Means: "The newest backup of the center is older than its schedule allows.",
		Fix:   "read why they fail in the center's log: journalctl -u skerry-center | grep backup"}
	notReady = doctor.Fault{Name: "center-not-ready",
		Means: "The center runs and is not ready.",
		Fix:   "read why in its log: journalctl -u skerry-center"}
	notAnswering = doctor.Fault{Name: "center-not-answering",
		Means: "The center's process runs and its API does not answer.",
		Fix:   "restart it: systemctl restart skerry-center; its log says what it was at"}
)

// What can be wrong between a workstation and a center.
var (
	kubeconfigMissing = doctor.Fault{Name: "kubeconfig-missing",
		Means: "There is no kubeconfig of the center.",
		Fix:   "name one with --kubeconfig or KUBECONFIG: the center's own is admin.kubeconfig in its data directory"}
	kubectlMissing = doctor.Fault{Name: "kubectl-missing",
		Means: "There is no kubectl on this machine, or not in PATH: skerry works, and nobody can work in a space.",
		Fix:   "install kubectl (https://kubernetes.io/docs/tasks/tools), and see that it is in PATH"}
	kubeconfigUnusable = doctor.Fault{Name: "kubeconfig-invalid",
		Means: "The kubeconfig cannot be used.",
		Fix:   "get a new one of the center's admin: skerry space kubeconfig SPACE --user NAME"}
	centerUnresolved = doctor.Fault{Name: "center-name-unresolved",
		Means: "The center's name does not resolve on this machine.",
		Fix:   "correct the server's name in the kubeconfig, or add it to the DNS or to /etc/hosts"}
	centerSilent = doctor.Fault{Name: "center-unreachable",
		Means: "The center's API is not reached from this machine.",
		Fix:   "see whether the center runs, and let TCP through to its port"}
	centerWrongCA = doctor.Fault{Name: "center-wrong-ca",
		Means: "What answers has not the certificate authority of the kubeconfig: the center was set up anew or its CA " +
			"rotated, or something opens TLS on the way.",
		Fix: "get a new kubeconfig of the center's admin; if it is the right one, take what opens TLS out of the way"}
	centerCertificate = doctor.Fault{Name: "center-certificate",
		Means: "The center's certificate is not valid for this name, or not now.",
		Fix:   "add the name to advertise: of the center, and restart it: it issues its certificate when it starts"}
	credentialsRefused = doctor.Fault{Name: "credentials-refused",
		Means: "The center does not accept the credentials of the kubeconfig (401): they have expired or were revoked.",
		Fix: "for the center take admin.kubeconfig from its data directory; for a space get a new kubeconfig of its admin: " +
			"skerry space kubeconfig SPACE --user NAME"}
	credentialsNone = doctor.Fault{Name: "credentials-none",
		Means: "The program that the kubeconfig names gives no credentials: nobody is logged in, or they have ended.",
		Fix:   "do what the program's own line above says: skerry login, or skerry space use with a new kubeconfig"}
	workstationClock = doctor.Fault{Name: "workstation-clock-off",
		Means: "This machine's clock is more than 10 minutes from the center's: certificates are refused.",
		Fix:   "set this machine's clock: timedatectl set-ntp true"}
)

// What a center knows of its sites and spaces.
var (
	neverConnected = doctor.Fault{Name: "site-never-connected",
		Means: "The site's agent has not dialled yet.",
		Fix:   "start it at the site: systemctl start skerry-agent"}
	notConnected = doctor.Fault{Name: "site-not-connected",
		Means: "The site has no session: its link, its machine or its agent is down. What runs there goes on.",
		Fix:   "run skerry doctor at the site"}
	siteSilent = doctor.Fault{Name: "site-silent",
		Means: "The session with the site is open, and nothing is heard.",
		Fix:   "look at the link to the site; run skerry doctor there"}
	twoAgents = doctor.Fault{Name: "site-two-agents",
		Means: "Two agents with the identity of the site take turns: one is a copy of the other.",
		Fix:   "stop the copy, remove its data directory, and let it join with a token and a name of its own"}
	siteHolds = doctor.Fault{Name: "site-center-regressed",
		Means: "The center's data is not what the site's came from (restored, or set up anew): the site holds everything.",
		Fix:   "see what accepting would do: skerry target accept NAME --dry-run"}
	siteDeletions = doctor.Fault{Name: "site-deletions-held",
		Means: "More is to be deleted at the site than it does unasked, so deletions wait.",
		Fix:   "see what would be deleted: skerry target accept NAME --dry-run"}
	siteClock = doctor.Fault{Name: "site-clock-off",
		Means: "The clocks of the site and of the center are far apart.",
		Fix:   "set the clock of that machine which is wrong: timedatectl set-ntp true"}
	siteCertificate = doctor.Fault{Name: "site-certificate",
		Means: "The site's certificate has ended or cannot be renewed.",
		Fix:   "read why in the agent's log at the site: journalctl -u skerry-agent"}
	siteStore = doctor.Fault{Name: "site-store",
		Means: "The site cannot store what it is sent: its disk refuses writes, or its store is being filled again.",
		Fix:   "run skerry doctor at the site"}
	siteTarget = doctor.Fault{Name: "site-target-unreachable",
		Means: "The site's agent does not reach its workload cluster.",
		Fix:   "run skerry doctor at the site"}
	siteReplaced = doctor.Fault{Name: "site-cluster-replaced",
		Means: "The site's workload cluster is another one than before.",
		Fix:   "if that was not meant, give its agent the kubeconfig of the old one"}
	siteBudget = doctor.Fault{Name: "site-budget-used",
		Means: "The bytes that the site's link may carry today are used up: statuses of Pods wait, changes go down.",
		Fix:   "wait, or raise spec.link.bytesPerDay of the SyncTarget"}
	siteReports = doctor.Fault{Name: "site-reports-too-much",
		Means: "The site reports more than the center keeps of one.",
		Fix:   "place fewer objects there, or report less (status: of its Placements)"}
	siteBelow = doctor.Fault{Name: "site-trouble-below",
		Means: "Sites below this relay are in trouble.",
		Fix:   "run skerry doctor at the relay"}
	siteRefuses = doctor.Fault{Name: "site-refuses-objects",
		Means: "The site refuses objects that are placed on it.",
		Fix:   "see which, and why: skerry status"}
	siteVersion = doctor.Fault{Name: "site-version-skew",
		Means: "The site runs a version that does not fit this one: at most one minor version behind, never ahead.",
		Fix:   "upgrade the center first, then the site"}
	spaceQuota = doctor.Fault{Name: "space-quota-full",
		Means: "A quota of the space has no room left: new objects are refused.",
		Fix:   "delete objects there, or raise the quota in the Space"}
)
