package parent

import "skerry.dev/skerry/tunnel/doctor"

// What can be wrong on the way to a parent.
var (
	addressInvalid = doctor.Fault{Name: "parent-address-invalid",
		Means: "The parent's address cannot be read.",
		Fix:   "write parent: https://HOST:PORT"}
	nameUnresolved = doctor.Fault{Name: "parent-name-unresolved",
		Means: "The parent's name does not resolve on this machine.",
		Fix:   "correct the name in parent:, or add it to the DNS or to /etc/hosts"}
	dnsSilent = doctor.Fault{Name: "dns-silent",
		Means: "No name server answers.",
		Fix:   "correct the name servers in /etc/resolv.conf, or let this machine reach them"}

	proxyUnreachable = doctor.Fault{Name: "proxy-unreachable",
		Means: "The proxy on the way to the parent cannot be reached.",
		Fix:   "correct proxy: (or HTTPS_PROXY); proxy: direct uses none"}
	proxyCredentials = doctor.Fault{Name: "proxy-credentials",
		Means: "The proxy wants credentials, or others than it was given.",
		Fix:   "write http://USER:PASSWORD@HOST:PORT into a file of mode 0600 and name it with proxy-file:"}
	proxyRefuses = doctor.Fault{Name: "proxy-refuses",
		Means: "The proxy does not connect to the parent.",
		Fix:   "allow CONNECT to the parent's host and port at the proxy, or name the host in NO_PROXY"}

	parentSilent = doctor.Fault{Name: "parent-silent",
		Means: "The parent answers neither TCP nor UDP: it is down, or a firewall or route is missing.",
		Fix:   "see whether the center's machine runs, and let TCP and UDP through to its port"}
	noRoute = doctor.Fault{Name: "no-route",
		Means: "This machine has no route to the parent.",
		Fix:   "bring the network interface up, or add a route: ip route get ADDRESS shows what is missing"}
	nothingListens = doctor.Fault{Name: "nothing-listens",
		Means: "The parent's machine answers, and nothing listens on the port.",
		Fix:   "start the center there (systemctl start skerry-center), or correct the port in parent:"}
	tcpBlocked = doctor.Fault{Name: "tcp-blocked",
		Means: "The parent answers UDP and not TCP: a site can neither join nor fall back to TCP.",
		Fix:   "let TCP through to the parent's port in the firewalls on the way"}
	udpBlocked = doctor.Fault{Name: "udp-blocked",
		Means: "The parent answers TCP and not UDP: the site works over TCP, and recovers slower from a bad link.",
		Fix:   "let UDP through to the parent's port, and the answers back, in the firewalls on the way"}
	mtuHole = doctor.Fault{Name: "mtu-hole",
		Means: "Small packets reach the parent and full ones vanish: a path has a smaller MTU than it says.",
		Fix: "raise the MTU of the link (of a VPN often) to 1,280 or more, or let ICMP 'fragmentation needed' " +
			"through"}

	noCenter = doctor.Fault{Name: "no-center",
		Means: "What answers at the parent's address is no center: another server, or a captive portal.",
		Fix:   "correct host and port of parent:, or have the network let TLS to it through untouched"}
	tlsStalls = doctor.Fault{Name: "tls-stalls",
		Means: "TCP connects to the parent, and no TLS handshake ends: full packets vanish, or a firewall holds TLS back.",
		Fix:   "lower the MTU of this machine's interface for a try; have the firewall let TLS to the parent through"}
	wrongCA = doctor.Fault{Name: "wrong-ca",
		Means: "What answers has not the certificate authority that this site trusts: another server, or one that opens TLS.",
		Fix:   "correct parent:, or take what opens TLS on the way (a proxy) out of it"}
	tokenOtherCenter = doctor.Fault{Name: "token-other-center",
		Means: "The join token is of another center than the one that answers.",
		Fix:   "make a token at this center (skerry token create), or correct parent:"}
	centerReplaced = doctor.Fault{Name: "center-replaced",
		Means: "A center answers that this site has not joined: it was set up anew, or it is another one.",
		Fix:   "correct parent:; if the center was set up anew: join again with a token of it (skerry token create)"}

	clockOff = doctor.Fault{Name: "clock-off",
		Means: "The clocks of this machine and of the parent are more than 10 minutes apart: certificates are refused.",
		Fix:   "set this machine's clock: timedatectl set-ntp true"}

	tokenMissing = doctor.Fault{Name: "token-missing",
		Means: "The site has not joined, and there is no join token.",
		Fix:   "make a token at the center (skerry token create) and name its file with --token-file"}
	tokenInvalid = doctor.Fault{Name: "token-invalid",
		Means: "What stands in the token file is no join token, or not all of one.",
		Fix:   "copy all of what skerry token create printed into the file"}
	tokenUnknown = doctor.Fault{Name: "token-unknown",
		Means: "The center does not know the join token: it was revoked, or its data is older than the token.",
		Fix:   "make a new one at the center: skerry token create"}
	tokenUsed = doctor.Fault{Name: "token-used",
		Means: "The join token is used up by sites that joined before.",
		Fix:   "make a new one at the center: skerry token create"}
	tokenExpired = doctor.Fault{Name: "token-expired",
		Means: "The join token has expired.",
		Fix:   "make a new one at the center: skerry token create"}
	nameRefused = doctor.Fault{Name: "site-name-refused",
		Means: "The center does not accept the site's name.",
		Fix:   "choose another name: with lower-case letters, digits and '-', at most 63"}
	nameInUse = doctor.Fault{Name: "site-name-in-use",
		Means: "Another site has joined under this name.",
		Fix:   "choose another name:, or let that site go at the center: skerry target release NAME"}
	labelsRefused = doctor.Fault{Name: "site-labels-refused",
		Means: "The center does not accept the site's labels.",
		Fix:   "correct labels:"}
	revoked = doctor.Fault{Name: "site-revoked",
		Means: "The center has revoked this site's certificate.",
		Fix:   "to let it back, at the center: skerry target release NAME; skerry token create; then join again with it"}
	unknownSite = doctor.Fault{Name: "site-unknown",
		Means: "The center has no site of this name and key: it was removed, joined anew from elsewhere, or the " +
			"center was restored from a backup that is older than the join.",
		Fix: "to join again, make a token at the center (skerry token create) and name its file with token-file:"}

	certificateExpired = doctor.Fault{Name: "certificate-expired",
		Means: "The site's certificate has expired: its agent has not been connected for long.",
		Fix:   "start the agent: it renews an expired certificate at its next session"}
	centerExpired = doctor.Fault{Name: "center-certificate-expired",
		Means: "The center's certificate is not valid now, though the clocks agree.",
		Fix:   "restart the center: it issues a new certificate when it starts"}

	versionNewer = doctor.Fault{Name: "version-skew-newer",
		Means: "This site runs a newer version than its parent.",
		Fix:   "upgrade the center first: a parent may be one minor version ahead of its sites, never behind"}
	versionOlder = doctor.Fault{Name: "version-skew-older",
		Means: "This site is more than one minor version behind its parent.",
		Fix:   "upgrade Skerry on this machine to the parent's version"}
)
