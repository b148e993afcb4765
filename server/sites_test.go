package server

import (
	"errors"
	"strings"
	"testing"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/tunnel/exchange"
)

// TestStandBySaysWhoLeads: a replica without sessions names the one that has them.
func TestStandBySaysWhoLeads(t *testing.T) {
	s := &Server{}
	if err := s.leads(); err != nil {
		t.Errorf("a center of one replica: %v", err)
	}
	s.lead = &leadership{begun: time.Now()}
	var f *exchange.Fault
	if !errors.As(s.leads(), &f) || f.Code != 503 || !strings.Contains(f.Message, leaseName) {
		t.Errorf("%+v", f)
	}
	leader := "https://two.example.com:7443 ABCDEFGH"
	s.lead.leader.Store(&leader)
	if !errors.As(s.leads(), &f) || !strings.HasSuffix(f.Message, "https://two.example.com:7443") {
		t.Errorf("%+v", f)
	}
	s.lead.until.Store(int64(time.Hour))
	if err := s.leads(); err != nil {
		t.Errorf("the leader: %v", err)
	}
}

// TestMarksOfPlaces: the tunnel knows the marks by the center's names for them.
func TestMarksOfPlaces(t *testing.T) {
	if exchange.ReportedFrom != v1alpha1.AnnotationReportedFrom || exchange.Targets != v1alpha1.AnnotationTargets {
		t.Error("the names differ")
	}
}
