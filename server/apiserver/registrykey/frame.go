package registrykey

import "encoding/binary"

// magic is the first bytes of data that carries a key. Nothing that Kubernetes stores begins with
// it.
const magic = "\x00skk"

// Put puts a key before the stored bytes of an object.
func Put(key, data []byte) []byte {
	out := make([]byte, 0, len(magic)+4+len(key)+len(data))
	out = append(out, magic...)
	out = binary.BigEndian.AppendUint32(out, uint32(len(key)))
	out = append(out, key...)
	return append(out, data...)
}

// Cut is the inverse of Put. Data that does not carry a key is returned as it is.
func Cut(data []byte) (key string, rest []byte) {
	const head = len(magic) + 4
	if len(data) < head || string(data[:len(magic)]) != magic {
		return "", data
	}
	n := uint64(binary.BigEndian.Uint32(data[len(magic):head]))
	if uint64(len(data)-head) < n {
		return "", data
	}
	return string(data[head : head+int(n)]), data[head+int(n):]
}
