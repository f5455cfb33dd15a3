// Command slowest turns what go test -json writes back into text, without the output of tests that
// pass, and ends with the ten slowest tests.
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
)

func main() {
	type test struct{ Package, Test string }
	type event struct {
		test
		Action, Output string
		Elapsed        float64
	}
	var done []event
	said := map[test]string{}
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			break
		}
		var e event
		switch json.Unmarshal([]byte(line), &e); e.Action {
		case "", "build-output": // make's lines and the compiler's
			fmt.Print(cmp.Or(e.Output, line))
		case "output":
			if e.Test != "" || e.Output != "PASS\n" {
				said[e.test] += e.Output
			}
		case "pass", "skip", "fail":
			if e.Test == "" || e.Action == "fail" {
				fmt.Print(said[e.test])
			}
			delete(said, e.test)
			if e.Test != "" && !strings.Contains(e.Test, "/") {
				done = append(done, e)
			}
		}
	}
	slices.SortFunc(done, func(a, b event) int { return cmp.Compare(b.Elapsed, a.Elapsed) })
	fmt.Println("\nthe slowest tests:")
	for _, e := range done[:min(10, len(done))] {
		fmt.Printf("%6.1f s  %s %s\n", e.Elapsed, e.Package, e.Test)
	}
}
