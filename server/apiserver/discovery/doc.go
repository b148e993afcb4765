// Package discovery answers which kinds a space has, and their OpenAPI documents. Built-in kinds
// are the same in every space; custom resources come from Servers. A Part is a Server whose kinds
// the space has: all of them, or of a lender those of some groups. One request for /apis:
//
//  1. The built-in server is asked in the request's name, and each Part too.
//  2. Their groups are merged. What exists in root alone is left out elsewhere.
//  3. The answer has the form that the client asked for, and an ETag.
//
// The documents of the built-in kinds are built when somebody asks, and kept compressed.
package discovery
