package quic

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	quicgo "github.com/quic-go/quic-go"
)

// A heartbeat is a child's question and its parent's answer, beside QUIC on the same socket. Inside
// QUIC it would wake half a dozen goroutines at the parent. Both are sealed with a key that nobody
// else knows. The answer is the smaller one, so that nobody gains from asking with a forged
// address.
//
//	question  0x22, session 8, counter 4, seal 16
//	answer    0x23, counter 4, flags 1, seal 16
//
// The counter is big-endian, begins with 1 and grows with each question. An answer has that of its
// question.
const (
	questionByte  = 0x22
	answerByte    = 0x23
	sealBytes     = 16
	counterAt     = 1 + sessionIDBytes
	questionBytes = counterAt + 4 + sealBytes
	answerBytes   = 1 + 4 + 1 + sealBytes
)

// withinFlag in an answer asks the child to send something by QUIC. The question came from another
// address than QUIC's packets go to. Or QUIC at the parent has sent something and heard nothing
// since.
const withinFlag = 1

// exporterLabel is the label (RFC 8446, 7.5) under which both sides derive the secret from their
// TLS session.
const exporterLabel = "EXPORTER-skerry-sign-of-life"

// sessionID names a connection to the parent. It reveals nothing to others.
type sessionID [sessionIDBytes]byte

const sessionIDBytes = 8

// secret is what both ends of a connection know and nobody else.
type secret struct {
	session sessionID
	key     [32]byte
}

func secretOf(q *quicgo.Conn) (s secret, err error) {
	state := q.ConnectionState().TLS
	material, err := state.ExportKeyingMaterial(exporterLabel, nil, len(s.session)+len(s.key))
	if err != nil {
		return s, fmt.Errorf("take a secret for signs of life from the TLS session: %w", err)
	}
	copy(s.key[:], material[copy(s.session[:], material):])
	return s, nil
}

// seal appends the proof that a datagram is from an owner of the secret. The first byte is the
// direction, so no question is an answer.
func (s *secret) seal(sign []byte) []byte {
	mac := hmac.New(sha256.New, s.key[:])
	mac.Write(sign)
	return append(sign, mac.Sum(nil)[:sealBytes]...)
}

// sealed reports whether a datagram has its seal.
func (s *secret) sealed(sign []byte) bool {
	text := sign[:len(sign)-sealBytes]
	mac := hmac.New(sha256.New, s.key[:])
	mac.Write(text)
	return hmac.Equal(mac.Sum(nil)[:sealBytes], sign[len(text):])
}

func (s *secret) question(counter uint32) []byte {
	b := append(make([]byte, 0, questionBytes), questionByte)
	b = append(b, s.session[:]...)
	return s.seal(binary.BigEndian.AppendUint32(b, counter))
}

func (s *secret) answer(counter uint32, within bool) []byte {
	b := append(make([]byte, 0, answerBytes), answerByte)
	b = append(binary.BigEndian.AppendUint32(b, counter), 0)
	if within {
		b[len(b)-1] |= withinFlag
	}
	return s.seal(b)
}

// readQuestion parses a question. It does not check the seal.
func readQuestion(b []byte) (session sessionID, counter uint32, ok bool) {
	if len(b) != questionBytes || b[0] != questionByte {
		return session, 0, false
	}
	return sessionID(b[1:]), binary.BigEndian.Uint32(b[counterAt:]), true
}

// readAnswer parses an answer. It does not check the seal.
func readAnswer(b []byte) (counter uint32, within, ok bool) {
	if len(b) != answerBytes || b[0] != answerByte {
		return 0, false, false
	}
	return binary.BigEndian.Uint32(b[1:]), b[5]&withinFlag != 0, true
}
