// Package signin logs a person in at an OIDC provider, and keeps the tokens that the provider gives
// for them. It is the client's half of `skerry center --authentication-config`: the ID token is what
// the center is shown.
//
// A *Provider* is a client of an issuer. Login asks the person, by the authorization code flow with
// PKCE and a redirect to the loopback (RFC 8252), or by a code for another device (RFC 8628). Token
// returns the ID token, and fetches another with the refresh token when it ends. Both tokens are in
// a file with mode 0600.
package signin
