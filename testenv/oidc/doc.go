// Package oidc is an OpenID Connect provider for scenarios: everybody who asks
// is logged in at once, as whom the file user.json of its directory says. It
// has the authorization code flow with PKCE, codes for devices, and refresh
// tokens that are good for one use. It is for tests alone.
//
// What its directory holds: ca.crt, the authority of its certificate; user.json,
// the claims of who logs in next; id.key, which signs tokens. Mint makes a token
// with other claims, or signed otherwise, as a forger would.
package oidc
