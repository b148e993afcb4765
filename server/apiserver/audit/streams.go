package audit

import (
	"net/url"
	"strings"
)

// The annotations of a line of the audit log about what reached into a Pod.
const (
	// Site is the target that was asked, Path all targets down to the Pod's cluster, as they
	// answered.
	Site = "skerry.dev/target"
	Path = "skerry.dev/site"
	// Pod is the Pod's name at its site, Container the one that was named, or its only one.
	Pod       = "skerry.dev/pod"
	Container = "skerry.dev/container"
	// Received and Sent are how many bytes came from the client, and went to it, over an upgraded
	// connection, with the frames of its protocol. They are in the line of the end.
	Received = "skerry.dev/bytes-received"
	Sent     = "skerry.dev/bytes-sent"
)

// firstWord cuts a command line in a request's URI to its first word: arguments hold passwords.
func firstWord(uri string) string {
	path, query, has := strings.Cut(uri, "?")
	if !has || !strings.Contains(query, "command") {
		return uri
	}
	var kept []string
	found := false
	for part := range strings.SplitSeq(query, "&") {
		name, _, _ := strings.Cut(part, "=")
		plain, err := url.QueryUnescape(name)
		if err != nil || plain == "command" {
			if found || err != nil {
				continue
			}
			found = true
		}
		kept = append(kept, part)
	}
	return path + "?" + strings.Join(kept, "&")
}
