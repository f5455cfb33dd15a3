module vidfilter

go 1.26
