// Package contract defines the protocol between vidfilter's processes: the exit codes and progress
// objects of a process that filters a file, and the kinds of tasks in a queue.
package contract

// Kinds of the tasks that make up a job.
const (
	TaskPlan  = "plan"  // finds out where the file can be cut
	TaskWhole = "whole" // filters the file in one go
	TaskCut   = "cut"   // sends the packets of one part to the store
	TaskPart  = "part"  // filters one part
	TaskJoin  = "join"  // joins the parts
)

// Filters reports whether tasks of a kind filter frames.
func Filters(kind string) bool { return kind == TaskWhole || kind == TaskPart }
