// Command sandlot-runtime is the daemon inside a sandbox. The README of the module lists its modes.
package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"

	"sandlot.dev/runtime/internal/config"
	"sandlot.dev/runtime/internal/layers"
	"sandlot.dev/runtime/internal/lifecycle"
	"sandlot.dev/runtime/internal/restore"
	"sandlot.dev/runtime/internal/unpack"
)

// terminationLog is the file whose content the kubelet publishes when an init container ends.
const terminationLog = "/dev/termination-log"

const usage = `usage: sandlot-runtime MODE
  install DIR           copy this binary into DIR, with a key for the sandbox
  serve                 run the daemon in the foreground
  start                 run the daemon in the background; return when it answers
  start -- COMMAND ARGS…  the same, and then become the command
  run -- COMMAND ARGS…  run the daemon beside a command, as PID 1
  ready                 wait a while until the ready command has succeeded; say why it has not
  version               print the version of the protocol
  ` + layers.Usage + `
  ` + unpack.Usage + "\n"

func main() {
	slog.SetDefault(slog.New(slog.NewJSONHandler(os.Stderr, nil)))
	os.Exit(mode(os.Args[1:]))
}

func mode(args []string) int {
	if len(args) == 0 {
		fmt.Fprint(os.Stderr, usage)
		return 2
	}
	switch name, rest := args[0], args[1:]; {
	case name == "install" && len(rest) == 1:
		return exitCode(install(rest[0]))
	case name == "serve" && len(rest) == 0:
		return withConfig(lifecycle.Serve)
	case name == "start" && len(rest) == 0:
		return withConfig(lifecycle.Start)
	case name == "start" && len(rest) > 1 && rest[0] == "--":
		return withConfig(func(c config.Config) error { return lifecycle.StartAnd(c, rest[1:]) })
	case name == "supervise" && len(rest) == 0:
		return exitCode(lifecycle.Supervise())
	case name == "run" && len(rest) > 1 && rest[0] == "--":
		return lifecycle.Run(rest[1:])
	case name == "ready" && len(rest) == 0:
		// The kubelet shows it in an Event.
		return plainExitCode(os.Stdout, lifecycle.Ready())
	case name == "layer":
		return plainExitCode(os.Stderr, layers.Run(rest, os.Stdout))
	case name == "unpack":
		return plainExitCode(os.Stderr, unpack.Run(rest))
	case name == "version" && len(rest) == 0:
		fmt.Println(config.Version)
		return 0
	}
	fmt.Fprint(os.Stderr, usage)
	return 2
}

func install(dir string) error {
	ports, err := config.Ports(os.Getenv)
	if err != nil {
		return err
	}
	return lifecycle.Install(dir, lifecycle.Announcement{Path: terminationLog, Ports: ports})
}

func withConfig(run func(config.Config) error) int {
	c, err := config.Read(restore.Open().Getenv)
	if err != nil {
		return exitCode(err)
	}
	return exitCode(run(c))
}

func exitCode(err error) int {
	if err == nil {
		return 0
	}
	slog.Error(err.Error())
	return 1
}

// plainExitCode prints an error as a line for people: the text is shown to users as it is.
func plainExitCode(out io.Writer, err error) int {
	if err == nil {
		return 0
	}
	_, _ = fmt.Fprintln(out, err)
	return 1
}
