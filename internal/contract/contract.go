// Package contract defines the protocol between vidfilter's processes: the exit codes and progress
// objects of a process that filters a file, and the kinds of tasks in a queue.
package contract

// Exit codes of every command.
const (
	ExitDone       = 0
	ExitFailed     = 1
	ExitUsage      = 2
	ExitInput      = 3
	ExitOutput     = 4
	ExitDevice     = 5
	ExitDamaged    = 6
	ExitQueue      = 7
	ExitInterrupt  = 130 // 128 + SIGINT, as in shells
	ExitQuit       = 131 // 128 + SIGQUIT
	ExitTerminated = 143 // 128 + SIGTERM
)

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
