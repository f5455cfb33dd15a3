package web

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"vidfilter/internal/site"
	"vidfilter/live"
)

// maxJobFile is enough for a list of a thousand files.
const maxJobFile = 256 << 10

// exportJob sends the filter as a job file.
func (s *Server) exportJob(w http.ResponseWriter, _ *http.Request) {
	st, _ := s.session.State()
	b, err := s.o.JobFile(st.Filter)
	if err != nil {
		site.Refuse(w, http.StatusInternalServerError, err.Error())
		return
	}
	w.Header().Set("Content-Type", "application/yaml; charset=utf-8")
	w.Header().Set("Content-Disposition", `attachment; filename="vidfilter.yaml"`)
	_, _ = w.Write(b)
}

// importJob sets the filter of a job file.
func (s *Server) importJob(w http.ResponseWriter, r *http.Request) {
	b, err := io.ReadAll(r.Body)
	if tooLong := (*http.MaxBytesError)(nil); errors.As(err, &tooLong) {
		site.Refuse(w, http.StatusRequestEntityTooLarge, "the job file is too long: at most 256 KiB")
		return
	}
	if err != nil {
		site.Refuse(w, http.StatusBadRequest, "the job file did not come whole")
		return
	}
	f, others, err := s.o.ReadJobFile(b)
	if err == nil {
		err = s.session.Set(func(now *live.FilterSettings) error { *now = f; return nil })
	}
	if err != nil {
		site.Refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(struct {
		Others []string `json:"others"` // options that the page has no place for
	}{append([]string{}, others...)})
}
