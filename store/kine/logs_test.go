package kine

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
)

// A line of kine's about a request that failed has the error, and nothing of what was to be
// written.
func TestValuesStayOutOfLogs(t *testing.T) {
	var out bytes.Buffer
	log := logrus.New()
	log.SetOutput(&out)
	log.ReplaceHooks(logrus.StandardLogger().Hooks)
	put := &etcdserverpb.PutRequest{Key: []byte("/registry/secrets/a"),
		Value: []byte("pass>word: tell nobody")}
	txn := &etcdserverpb.TxnRequest{
		Success: []*etcdserverpb.RequestOp{{Request: &etcdserverpb.RequestOp_RequestPut{RequestPut: put}}},
	}
	log.Errorf("error in txn %s: %v", txn, errors.New("database or disk is full"))
	log.Errorf("error in put %s: %v", put, errors.New("database or disk is full"))
	if text := out.String(); strings.Contains(text, "nobody") ||
		!strings.Contains(text, "error in txn: database or disk is full") {
		t.Error(text)
	}
}
