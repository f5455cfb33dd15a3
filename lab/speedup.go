package lab

// The baselines of speed-ups: versions as in the lists of kernels. 001's are from its tables.
const (
	versionC      = "C"
	versionOpenMP = "OpenMP"
	versionCUDA   = "CUDA"
	versionCPU    = "CPU" // 002 compares with its filter on all cores
)

// baselines are the versions that each paper compares with.
var baselines = map[string]struct{ sequential, naive string }{
	"000": {"0", "1"},
	"001": {versionC, ""},
	"002": {versionCPU, "A"},
	"003": {"BL_Naive", "naive"},
	"004": {"0", "1"},
}

// addSpeedups computes the speed-ups of all rows over the baselines at the same size and options.
func (e *experiment) addSpeedups() {
	b := baselines[e.Paper]
	for i := range e.Rows {
		row := &e.Rows[i]
		row.Sequential = e.over(row, "cpu", b.sequential)
		if row.Where == "gpu" {
			row.Naive = e.over(row, "gpu", b.naive)
		}
	}
}

// over returns the baseline's time over the row's. If several configurations of the baseline were
// timed, the fastest counts; without any, it returns 0.
func (e *experiment) over(row *Row, where, version string) float64 {
	least := 0.0
	for _, b := range e.Rows {
		same := version != "" && b.Where == where && b.Version == version && b.Kind == "" && !b.Own && b.Threads <= 1 && b.Size == row.Size &&
			b.Radius == row.Radius && b.SigmaS == row.SigmaS && b.SigmaR == row.SigmaR && b.counted() > 0
		if same && (least == 0 || b.counted() < least) {
			least = b.counted()
		}
	}
	if row.counted() == 0 {
		return 0
	}
	return least / row.counted()
}
