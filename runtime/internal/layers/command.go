package layers

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"time"

	"sandlot.dev/runtime/internal/config"
	"sandlot.dev/runtime/internal/restore"
	"sandlot.dev/runtime/internal/trust"
)

// Usage says how the command is used.
const Usage = `layer scan --index FILE             record the state of all files
  layer diff --index FILE --out FILE  write what changed since as a layer of an image, and record the new state`

// tick is longer than the clock by which any file system marks a change stands still.
const tick = 20 * time.Millisecond

// ErrUsage says that the arguments are none of the command.
var ErrUsage = errors.New("usage: sandlot-runtime " + Usage)

type options struct {
	root, index, out string
	limit            int64
}

// Run carries out `layer scan` or `layer diff` and writes a line of JSON, the Result, to out.
func Run(args []string, out io.Writer) error {
	name, o, err := readOptions(args)
	if err != nil {
		return err
	}
	act := map[string]func(options) (Result, error){"scan": runScan, "diff": runDiff}[name]
	if act == nil || (name == "diff") != (o.out != "") {
		return ErrUsage
	}
	result, err := act(o)
	if err != nil {
		return err
	}
	// A change within the same tick as one that the index has seen would look like that one.
	time.Sleep(tick)
	return json.NewEncoder(out).Encode(result)
}

func readOptions(args []string) (string, options, error) {
	var o options
	if len(args) == 0 {
		return "", o, ErrUsage
	}
	flags := flag.NewFlagSet("layer "+args[0], flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&o.root, "root", "/", "the folder that is the root of the image")
	flags.StringVar(&o.index, "index", "", "the file with the recorded state")
	flags.StringVar(&o.out, "out", "", "the file for the layer")
	flags.Int64Var(&o.limit, "limit", 0, "the most bytes that a layer may have; 0 for no limit")
	if err := flags.Parse(args[1:]); err != nil || flags.NArg() > 0 || o.index == "" {
		return "", o, errors.Join(ErrUsage, err)
	}
	return args[0], o, nil
}

func (o options) next() string { return o.index + ".next" }

// runScan makes the folder of the index, which may be the one that no layer has.
func runScan(o options) (Result, error) {
	if err := os.MkdirAll(filepath.Dir(o.index), 0o700); err != nil {
		return Result{}, err
	}
	if err := leaveImage(o.root); err != nil {
		return Result{}, err
	}
	t, err := openTree(o.root, o.index, o.next())
	if err != nil {
		return Result{}, err
	}
	var result Result
	err = create(o.next(), func(file io.Writer) error {
		result, err = scan(t, &counter{out: file})
		return err
	})
	if err != nil {
		return result, err
	}
	return result, os.Rename(o.next(), o.index)
}

// leaveImage keeps the authorities of this installation out of the files whose state is about to be recorded.
func leaveImage(root string) error {
	if filepath.Clean(root) != "/" {
		return nil
	}
	return trust.Open(config.Dir(restore.Open().Getenv)).LeaveImage()
}

// runDiff replaces the index last: until then it can be repeated.
func runDiff(o options) (Result, error) {
	t, err := openTree(o.root, o.index, o.next(), o.out)
	if err != nil {
		return Result{}, err
	}
	old, err := os.Open(o.index)
	if err != nil {
		return Result{}, err
	}
	defer func() { _ = old.Close() }()
	var result Result
	err = create(o.next(), func(index io.Writer) error {
		return create(o.out, func(layer io.Writer) error {
			result, err = diff(t, old, index, &counter{out: layer, limit: o.limit})
			return err
		})
	})
	if err != nil {
		return result, err
	}
	return result, os.Rename(o.next(), o.index)
}

// create writes a file, and leaves none behind if that fails.
func create(path string, write func(io.Writer) error) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	buffered := bufio.NewWriterSize(file, 1<<18)
	err = write(buffered)
	if err == nil {
		err = buffered.Flush()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		_ = os.Remove(path)
	}
	return err
}
