package inventory

import "skerry.dev/skerry/store/bolt"

// Record is what the agent knows of one object that it wrote, as it is stored.
type Record = bolt.Record
