package lab

func ferreiraExperiments() (all []*experiment) { return nil }
