package jetstream

import (
	"encoding/json"
	"fmt"
	"testing"

	"vidfilter/batch/queue"
	"vidfilter/batch/queue/jetstream/pki"
	"vidfilter/internal/e2e"
)

// ended makes a fleet with n jobs that are cancelled, whose records the cache no longer has.
func ended(t *testing.T, n int) (*fleet, *recordCache) {
	t.Helper()
	f := newFleet(t, ServeOptions{})
	owner := f.client("owner", pki.Submitter)
	for i := range n {
		f.task(owner, fmt.Sprint("job-", i))
		e2e.Must(t, owner.Cancel(t.Context(), fmt.Sprint("job-", i), "x"))
	}
	b := f.handler.cache
	e2e.Must(t, b.read(t.Context()))
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range b.ended {
		p.clear()
	}
	return f, b
}

// Jobs that ended long ago are listed with their records, and others see only public fields.
func TestListEnded(t *testing.T) {
	public := func(j queue.Job) queue.Job { j.Title = "hidden"; return j }
	for _, n := range []int{2, dense + 4} { // one by one, and many at a time
		_, b := ended(t, n)
		for name, title := range map[string]string{"owner": "", "other": "hidden"} {
			p, err := b.list(t.Context(), listing{size: 1 << 20, by: caller{role: pki.Submitter, name: name}, public: public})
			e2e.Must(t, err)
			if len(p.found) != n || p.more {
				t.Fatalf("%d records, more: %v", len(p.found), p.more)
			}
			for i, r := range p.found {
				if got := decodeRecord(r.Key, r.Value); r.Key != fmt.Sprint("job-", i) || got.State != queue.Cancelled || got.Job.Title != title {
					t.Errorf("record %d for %s: %s %+v", i, name, r.Key, got.Status)
				}
			}
		}
	}
}

// A record that changes while a list is made comes later in it.
func TestListChanging(t *testing.T) {
	for _, n := range []int{2, dense + 4} {
		f, b := ended(t, n)
		l := listing{size: 1 << 20, by: caller{role: pki.Operator}}
		p := b.look(l)
		_, err := f.handler.e.update(t.Context(), "job-0", func(r *record) error { r.Reason = "y"; return nil })
		e2e.Must(t, err)
		e2e.Must(t, b.fill(t.Context(), &p, nil))
		if r := p.found[0]; !r.Gone || r.Value != nil || !p.more {
			t.Errorf("%+v, more: %v", r, p.more)
		}
		l.after = p.found[n-1].At
		p, err = b.list(t.Context(), l)
		if err != nil || len(p.found) != 1 || decodeRecord("job-0", p.found[0].Value).Reason != "y" {
			t.Errorf("%+v, %v", p, err)
		}
	}
}

// The cache drops the records of jobs that ended before the latest ones, not their numbers.
func TestBoardShortens(t *testing.T) {
	b := newRecordCache(&Engine{})
	put := func(i int, s queue.State) {
		r := newRecord(queue.Job{ID: fmt.Sprint("job-", i), User: "owner", First: queue.Task{Name: "plan"}})
		r.State = s
		b.put(asStored(t, r, uint64(i+1)), r.Submitted)
	}
	put(0, queue.Queued)
	for i := range wholeRecords + 10 {
		put(i+1, queue.Done)
	}
	for i, want := range map[int]bool{0: true, 1: false, 10: false, 11: true} {
		if has := b.jobs[fmt.Sprint("job-", i)].Value != nil; has != want {
			t.Errorf("the cache has the record of job %d: %v", i, has)
		}
	}
	if u := b.usage("owner"); u.jobs != wholeRecords+11 || u.live != 1 || u.records < int64(u.jobs)*100 {
		t.Errorf("%+v", u)
	}
	if all := b.unsettled(); len(all) != 1 || all[0].Key != "job-0" {
		t.Errorf("unsettled: %d", len(all))
	}
}

func asStored(t *testing.T, r *record, at uint64) storedRecord {
	b, err := json.Marshal(r)
	e2e.Must(t, err)
	return storedRecord{Key: r.Job.ID, Value: b, At: at}
}
