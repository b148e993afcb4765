package observe

import (
	"bytes"

	"skerry.dev/skerry/store"
)

// followDevicesLocked makes sure that claims of devices are watched for a placed object whose Pods
// have some made for them.
func (o *Observer) followDevicesLocked(k store.Key, rec *record, body []byte) {
	if o.deviceUsers[k] != "" || rec.counted == nil || !asksForDevices(body) {
		return
	}
	o.deviceUsers[k] = rec.counted.view
	o.countLocked(watchKey{view: rec.counted.view, resource: deviceResource}, k, "v1", false)
}

// asksForDevices reports whether the Pods of an object have claims of devices made of a template. A
// name that reads so in another place costs a watch and nothing else.
func asksForDevices(body []byte) bool {
	return bytes.Contains(body, []byte(`"resourceClaimTemplateName"`))
}
