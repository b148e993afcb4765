// Package proxy opens TCP connections through an HTTP proxy by CONNECT, for sites that have no
// other way out.
//
//	d, err := proxy.New(proxy.Config{...})  // a proxy of the operator's, or that of the environment
//	if d.Uses(hostPort) { ... }             // reports whether hostPort is reached through a proxy
//
// The operator names the proxy, or the variables HTTPS_PROXY and NO_PROXY do. Credentials are sent
// to the proxy alone and never logged. It carries no UDP: a parent behind a proxy is reached over
// TCP.
package proxy
