package tally

import (
	"hash/maphash"

	"vidfilter/batch/queue"
)

// past counts jobs that are done and no longer kept whole.
type past struct {
	seed maphash.Seed
	jobs map[uint64]figures // by the hash of the ID
	n    int                // jobs, including forgotten ones

	frames, bytes, weight int64 // sums
	tasks, retried        int

	weighed, counted int // jobs whose weight and frames are known
}

// figures are the share of a done job in the totals. A batch may have 100,000.
type figures struct {
	frames, bytes, weight int64
	tasks, digest         uint32 // digest: its hash
}

func newPast() past { return past{seed: maphash.MakeSeed(), jobs: map[uint64]figures{}} }

func (p *past) hash(s string) uint64 { return maphash.String(p.seed, s) }

func (p *past) knows(id string) bool {
	_, ok := p.jobs[p.hash(id)]
	return ok
}

func (p *past) add(j *job) {
	f := figures{j.done(), j.written(), j.weight, uint32(j.s.Tasks), uint32(p.hash(j.s.Job.Digest))}
	if !j.dropped {
		p.jobs[p.hash(j.s.Job.ID)] = f
	}
	p.retried += j.s.Retried
	p.count(f, 1)
}

func (p *past) count(f figures, n int) {
	p.n += n
	p.frames += int64(n) * f.frames
	p.bytes += int64(n) * f.bytes
	p.weight += int64(n) * f.weight
	p.tasks += n * int(f.tasks)
	if f.weight > 0 {
		p.weighed += n
	}
	if f.frames > 0 {
		p.counted += n
	}
}

// again reports whether a status repeats a job that is counted. A status with news removes the job
// from the past.
func (p *past) again(s queue.Status) bool {
	f, ok := p.jobs[p.hash(s.Job.ID)]
	if ok && s.State == queue.Done && f.digest == uint32(p.hash(s.Job.Digest)) {
		return true
	}
	p.remove(s.Job.ID)
	return false
}

func (p *past) remove(id string) {
	h := p.hash(id)
	if f, ok := p.jobs[h]; ok {
		delete(p.jobs, h)
		p.count(f, -1)
	}
}
