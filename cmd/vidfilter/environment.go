package main

import (
	"vidfilter/internal/cli"
	"vidfilter/internal/job"
	"vidfilter/internal/liverun"
)

// unknownEnvironment returns warnings about variables that look like options and are none.
func unknownEnvironment(env []string) []string {
	return cli.UnknownVariables(env, liverun.NewOptions().Flags(), job.NewOptions().Flags())
}
