package kernels

// thesisForm is the thesis (000): see cuda/thesis.cu.
var thesisForm = labForm{form: Thesis, list: thesisVariants}

func thesisVariants() (list []Variant) {
	return []Variant{{
		Name: "thesis_1_naive_b16", Form: Thesis, Radius: AnyRadius, Range: Gaussian, Distance: Channel, Border: Skip, Compute: 61,
		Paper: "000", Version: "1", Title: "naive",
		width: 16, height: 16, threads: [2]int{16, 16}, flags: []string{rangeFlag(Gaussian), define("BLOCK", 16)},
	}}
}
