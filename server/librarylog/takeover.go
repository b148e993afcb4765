package librarylog

import (
	"context"
	"io"
	"log/slog"

	"github.com/sirupsen/logrus"
	"k8s.io/klog/v2"
)

// Silence throws away what the libraries log, until TakeOver: a command says in its own words what went
// wrong.
func Silence() {
	klog.SetSlogLogger(slog.New(slog.DiscardHandler))
	logrus.SetOutput(io.Discard)
}

// TakeOver hands the loggers of the libraries over to h, as NewHandler does: klog, which Kubernetes
// has, and logrus, which kine has. Both are of the whole process.
func TakeOver(run context.Context, h slog.Handler, level slog.Level) {
	libraries := slog.New(NewHandler(run, h, level))
	klog.SetSlogLogger(libraries.With("part", "kubernetes"))
	logrus.SetLevel(logrus.WarnLevel)
	logrus.SetFormatter(&logrus.TextFormatter{DisableTimestamp: true, DisableColors: true})
	logrus.SetOutput(slog.NewLogLogger(libraries.With("part", "kine").Handler(), slog.LevelWarn).Writer())
}
