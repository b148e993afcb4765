// Package proxy opens TCP connections through an HTTP proxy by CONNECT, for sites that have no other way out. Who is a site's proxy is said by
// its operator or by the usual variables (HTTPS_PROXY, NO_PROXY). Credentials are sent to the proxy and shown to nobody. It is imported by the
// agent.
package proxy
