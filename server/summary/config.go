package summary

import (
	"context"
	"log/slog"

	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/server/spaceapi"
	"skerry.dev/skerry/store"
)

// Config is what summary needs. All fields are needed.
type Config struct {
	API        API
	Reports    Reports
	Delivery   Delivery
	References References
	Outages    Outages
	Log        *slog.Logger
}

// API is what summary does to the objects of spaces.
type API interface {
	spaceapi.Getter
	spaceapi.LiveGetter
	spaceapi.Creator
	spaceapi.Patcher
	spaceapi.Deleter
	spaceapi.Terminator
}

// Reports has what targets reported last.
type Reports interface {
	// Report reads the last report of a key by a target. It returns false for what was never
	// reported, and for tombstones.
	Report(target string, key store.Key) (store.Entry, bool, error)
}

// Delivery knows where objects are, and what is sent of them.
type Delivery interface {
	// Located returns where an object is. It returns false for an object that is on no target.
	Located(key store.Key) (placement.Located, bool)
	// Owner is Located for an object that an owner reference names by its kind.
	Owner(space, namespace, group, kind, name string) (placement.Located, bool)
	// Placed lists what is placed on a target, by key and hash.
	Placed(target string) []store.Entry
	// Desired returns the body that targets are sent of an object, as it is now.
	Desired(ctx context.Context, key store.Key) ([]byte, error)
}

// References knows which objects name which.
type References interface {
	// Needs lists what the pods of a workload name.
	Needs(workload store.Key) []store.Key
	// NeededBy lists the workloads whose pods name an object.
	NeededBy(key store.Key) []store.Key
}

// Outages knows whose reports are old.
type Outages interface {
	// Outage returns why the reports of a target are old. It returns false while they are current.
	Outage(target string) (placement.Outage, bool)
}
