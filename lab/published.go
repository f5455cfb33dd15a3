package lab

// The papers' measurements, from their texts. Times are in milliseconds of one picture. A figure
// of 0 is not in the text.

// Published is one result of a paper.
type Published struct {
	Version    string  `json:"-"` // as in the list of kernels: kernels.Variant.Version
	Size       Size    `json:"-"`
	Radius     int     `json:"-"`
	Threads    int     `json:"-"` // 0: one, or unknown
	Ms         float64 `json:"ms"`
	Sequential float64 `json:"sequential"`  // speed-up over the sequential version
	Naive      float64 `json:"naive"`       // speed-up over the naive version
	Hardware   string  `json:"hardware"`    // if it differs from the table's
	Table      string  `json:"table"`       // table or section of the paper
	Remark     string  `json:"remark"`      // caveats for the reader
	Best       bool    `json:"best,string"` // the paper's fastest version at this size and radius
}

// Paper is one of the five behind the program.
type Paper struct {
	ID       string `json:"id"`
	Authors  string `json:"authors"`
	Title    string `json:"title"`
	Hardware string `json:"hardware"` // of its measurements
}

// Papers lists them in order.
func Papers() []Paper {
	return []Paper{
		{"000", "a thesis", "the bilateral filter in CUDA, versions 0 to 8", "Core i5-4670, GeForce GTX 760"},
		{"001", "Akers", "GPU accelerated bilateral filter for video enhancement", "Xeon E5-2620 v4 (32 threads), GeForce GTX 1080 Ti"},
		{"002", "Ferreira et al.", "recursive edge-aware Gaussian filters on GPUs", "GeForce GTX 1050 Ti and RTX 2080 Ti, Core i7-8700"},
		{"003", "Agarwal et al.", "bilateral filtering for manycore and multicore", "GeForce GTX 280; Opteron 8350 (Barcelona) and others"},
		{"004", "Staal", "bilateral filtering with CUDA, GPU_v1 to v8", "Phenom II X4 940, GeForce GTX 460"},
	}
}

// PaperIDs lists the papers' numbers.
func PaperIDs() (all []string) {
	for _, p := range Papers() {
		all = append(all, p.ID)
	}
	return all
}

// The pictures of 000.
var thesisSizes = []Size{{Width: 512, Height: 512}, {Width: 1920, Height: 1080}, {Width: 5522, Height: 3651}}

// thesisSequential has seconds from tables 6.4 to 6.6 for radius 1, 3 ... 15: of the sequential
// version, of the fastest CUDA version, and the latter's number.
var thesisSequential = [][8]struct {
	sequential, fastest float64
	version             string
}{
	{{0.062, 0.00180024, "4"}, {0.344, 0.00892978, "4"}, {0.828, 0.0214979, "4"}, {1.516, 0.0394262, "4"},
		{2.391, 0.0601966, "4"}, {3.438, 0.0871645, "4"}, {4.625, 0.118996, "4"}, {6, 0.156193, "4"}},
	{{0.532, 0.0140122, "4"}, {2.75, 0.0707598, "4"}, {6.75, 0.170991, "4"}, {12.392, 0.314089, "4"},
		{19.704, 0.496465, "4"}, {28.643, 0.724649, "4"}, {39.19, 0.984764, "4"}, {51.285, 1.29131, "4"}},
	{{5.172, 0.13292, "4"}, {26.909, 0.665448, "8"}, {66.348, 1.60866, "8"}, {122.353, 2.9652, "8"},
		{195.406, 4.74923, "4"}, {285.037, 6.92436, "4"}, {391.468, 9.51281, "4"}, {514.588, 12.5168, "4"}},
}

// thesisVersions has seconds from tables 6.7 to 6.9 for versions 1 to 8 at radius 1, 7 and 15.
var thesisVersions = [][3][8]float64{
	{{0.00187809, 0.00183448, 0.0018051, 0.00180024, 0.00204914, 0.00202799, 0.00213972, 0.00187982},
		{0.0419822, 0.0410349, 0.0397063, 0.0394262, 0.0433843, 0.0438378, 0.0441124, 0.0407951},
		{0.165683, 0.161773, 0.156998, 0.156193, 0.171034, 0.180457, 0.17083, 0.179943}},
	{{0.0146601, 0.014283, 0.014054, 0.0140122, 0.0157043, 0.0155314, 0.0163254, 0.0144374},
		{0.334711, 0.327136, 0.31658, 0.314089, 0.345841, 0.343644, 0.345981, 0.314637},
		{1.37305, 1.34032, 1.30017, 1.29131, 1.40947, 1.42569, 1.40918, 1.41922}},
	{{0.138826, 0.135381, 0.133291, 0.13292, 0.147222, 0.145597, 0.153328, 0.135977},
		{3.16396, 3.08927, 3.00274, 2.98024, 3.22675, 3.21392, 3.2293, 2.9652},
		{13.2725, 12.9592, 12.6202, 12.5168, 13.5052, 13.6019, 13.4706, 13.5452}},
}

// thesisFigures combines both kinds of tables. Speed-ups are computed from the times, as in the
// thesis.
func thesisFigures() (all []Published) {
	for i, size := range thesisSizes {
		for k, row := range thesisSequential[i] {
			radius := 2*k + 1
			all = append(all, Published{Version: "0", Size: size, Radius: radius, Ms: 1000 * row.sequential, Sequential: 1,
				Table: "6." + string(rune('4'+i))})
			all = append(all, thesisRadius(i, radius, row.sequential, row.fastest, row.version)...)
		}
	}
	return all
}

// thesisRadius returns the CUDA versions at one radius: all if tables 6.7 to 6.9 have them, else
// the fastest.
func thesisRadius(image, radius int, sequential, fastest float64, version string) (all []Published) {
	size := thesisSizes[image]
	row := map[int]int{1: 0, 7: 1, 15: 2}
	at, whole := row[radius]
	if !whole {
		return []Published{{Version: version, Size: size, Radius: radius, Ms: 1000 * fastest, Sequential: sequential / fastest,
			Table: "6." + string(rune('4'+image)), Best: true}}
	}
	times := thesisVersions[image][at]
	for v, seconds := range times {
		name := string(rune('1' + v))
		all = append(all, Published{Version: name, Size: size, Radius: radius, Ms: 1000 * seconds, Sequential: sequential / seconds,
			Naive: times[0] / seconds, Table: "6." + string(rune('7'+image)), Best: name == version})
	}
	return all
}

// The frames of 001. Its text once has 3480x2160, a slip of 3840x2160: it calls it 4k.
var (
	size4K = Size{Width: 3840, Height: 2160}
	size8K = Size{Width: 7680, Height: 4320}
)

// akersFigures are tables 1.1 and 1.2. OpenMP ran on 32 threads. The CUDA version has pinned
// memory and two streams.
func akersFigures() []Published {
	const remark = "pinned, two streams"
	return []Published{
		{Version: versionC, Size: size4K, Radius: 1, Ms: 507.252, Sequential: 1, Table: "1.1"},
		{Version: versionOpenMP, Size: size4K, Radius: 1, Threads: 32, Ms: 40.900, Sequential: 12.404, Table: "1.1"},
		{Version: versionCUDA, Size: size4K, Radius: 1, Ms: 5.235, Sequential: 96.899, Table: "1.1", Remark: remark},
		{Version: versionC, Size: size8K, Radius: 1, Ms: 2026.477, Sequential: 1, Table: "1.2"},
		{Version: versionOpenMP, Size: size8K, Radius: 1, Threads: 32, Ms: 157.157, Sequential: 12.897, Table: "1.2"},
		{Version: versionCUDA, Size: size8K, Radius: 1, Ms: 19.907, Sequential: 101.799, Table: "1.2", Remark: remark},
	}
}

// size2M is the 2 megapixels of 004, which it calls full HD.
var size2M = Size{Width: 1920, Height: 1080}

// staalFigures are tables 1 and 2: seconds of the CPU and of GPU_v1 to v8 at radius 4 and 10,
// including copies in both directions. Speed-ups are the paper's own: it computed them from more
// digits of the times than it prints.
func staalFigures() (all []Published) {
	for i, t := range []struct {
		radius  int
		seconds [9]float64
		factor  [9]float64
	}{
		{4, [9]float64{50.226, 0.499, 0.434, 0.259, 0.188, 0.050, 0.157, 0.133, 0.050}, [9]float64{1, 101, 116, 194, 268, 1011, 321, 377, 1002}},
		{10, [9]float64{268.381, 2.545, 2.202, 1.193, 0.908, 0.162, 0.254, 0.320, 0.161}, [9]float64{1, 105, 122, 225, 295, 1653, 1057, 838, 1665}},
	} {
		for v, seconds := range t.seconds {
			p := Published{Version: string(rune('0' + v)), Size: size2M, Radius: t.radius, Ms: 1000 * seconds, Sequential: t.factor[v],
				Table: string(rune('1' + i)), Best: v == 8}
			if v > 0 {
				p.Naive = t.seconds[1] / seconds
			}
			all = append(all, p)
		}
	}
	return all
}

// The pictures of 003.
var (
	sizeLarge = Size{Width: 3000, Height: 3000}
	sizeSmall = Size{Width: 768, Height: 512}
	sizeCache = Size{Width: 512, Height: 512}
)
