// Package door is where agents come in: it exchanges join tokens for certificates, accepts their QUIC connections, runs one session per
// target (the newest wins) and keeps the SyncTarget objects true: who is connected, how far it is. What a session carries, the desired feed
// and the inbox of reports, is handed to it by server.go, its only importer besides the command line's token commands.
package door
