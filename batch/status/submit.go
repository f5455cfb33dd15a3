package status

import (
	"errors"
	"io"
	"net/http"

	"vidfilter/batch/queue"
	"vidfilter/internal/site"
	"vidfilter/internal/text"
)

const submitPath = "/api/batches"

// submit checks a job file and, without ?check, submits it as a batch for the agents of the queue.
// ?name= is the name of the file.
func (s *server) submit(w http.ResponseWriter, r *http.Request) {
	if s.o.Submit == nil {
		site.Refuse(w, http.StatusNotImplemented, "this page takes no batches: submit them at the page of vidfilter serve")
		return
	}
	document, err := io.ReadAll(r.Body)
	if big := new(http.MaxBytesError); errors.As(err, &big) {
		site.Refuse(w, http.StatusRequestEntityTooLarge, "the job file is larger than "+text.Size(big.Limit)+": name folders or patterns in place of many files")
		return
	} else if err != nil {
		site.Refuse(w, http.StatusBadRequest, "the job file did not arrive whole: "+err.Error())
		return
	}
	said, err := s.o.Submit(r.Context(), r.URL.Query().Get("name"), document, r.URL.Query().Has("check"))
	switch {
	case errors.Is(err, queue.ErrHeld):
		site.Refuse(w, http.StatusConflict, err.Error())
	case err != nil:
		site.Refuse(w, http.StatusUnprocessableEntity, err.Error())
	default:
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, said+"\n") // the reader may have gone
	}
}
