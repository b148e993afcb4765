package kine

import (
	"testing"

	"github.com/sirupsen/logrus"
)

// A transaction of kine's that fails must not end the center.
func TestKineCannotEndTheProcess(t *testing.T) {
	logrus.Fatal("this is a test")
}
