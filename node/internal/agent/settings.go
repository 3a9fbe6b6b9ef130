package agent

import (
	"errors"
	"flag"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"sandlot.dev/node/internal/names"
	"sandlot.dev/node/internal/remote"
)

// variablePrefix begins the name of the environment variable of each flag: -most-saves is SANDLOT_MOST_SAVES.
const variablePrefix = "SANDLOT_"

// Settings are what an operator decides.
type Settings struct {
	Node      string
	Root      string
	State     string
	Runsc     string
	RunscRoot string
	Socket    string
	Listen    string
	Metrics   string
	TLSDir    string
	MostSaves int
	// MostRestores run at the same time.
	MostRestores int
	// DirectRestores read memory from the disk past the page cache.
	DirectRestores bool
	// WantedBytes is what a save needs beside the memory of its Pod. KeepFreeBytes is what it leaves of the disk.
	WantedBytes, KeepFreeBytes int64
	// MostFilesBytes is what the files of a container may have that are kept beside its memory.
	MostFilesBytes int64
	// S3 says where the bucket of the installation is. It has none while the endpoint is empty.
	S3 remote.Settings
	// MostTransfers between the node and the bucket run at the same time.
	MostTransfers int
	// Grace is how long saves may go on after a request to stop.
	Grace time.Duration
}

// ReadSettings reads flags, and the environment for those that are absent.
func ReadSettings(args []string, lookUp func(string) (string, bool)) (Settings, error) {
	var s Settings
	flags := flag.NewFlagSet("sandlot-node", flag.ContinueOnError)
	flags.StringVar(&s.Node, "node", "", "name of the Kubernetes node")
	flags.StringVar(&s.Root, "root", "/var/lib/sandlot/snapshots", "folder of the snapshots, the same path in the agent and on the node")
	flags.StringVar(&s.State, "state", "/var/lib/sandlot/node", "folder of the agent's records")
	flags.StringVar(&s.Runsc, "runsc", "/usr/local/bin/runsc", "gVisor's program, the one that runs the node's Pods")
	flags.StringVar(&s.RunscRoot, "runsc-root", "/run/containerd/runsc/k8s.io", "folder in which gVisor keeps the state of containers")
	flags.StringVar(&s.Socket, "socket", "/run/sandlot/node.sock", "unix socket for the shim")
	flags.StringVar(&s.Listen, "listen", ":8443", "address for the snapshot-controller")
	flags.StringVar(&s.Metrics, "metrics", ":9090", "address for probes and metrics")
	flags.StringVar(&s.TLSDir, "tls-dir", "/etc/sandlot/tls", "folder of tls.crt, tls.key and ca.crt")
	flags.IntVar(&s.MostSaves, "most-saves", 2, "saves at the same time")
	flags.IntVar(&s.MostRestores, "most-restores", 4, "restores at the same time; Pods of warm pools wait for those of claims")
	flags.BoolVar(&s.DirectRestores, "direct-restores", true, "read the memory of a hibernation past the page cache, where the file system can")
	flags.Int64Var(&s.WantedBytes, "wanted-bytes", 256<<20, "bytes a save needs beside the memory of its Pod")
	flags.Int64Var(&s.KeepFreeBytes, "keep-free-bytes", 1<<30, "bytes a save leaves free on the disk")
	flags.Int64Var(&s.MostFilesBytes, "most-files-bytes", 1<<30, "bytes of changed files of a container that are kept beside its memory; a Pod that begins with them has them in its memory once")
	addS3Flags(flags, &s)
	flags.DurationVar(&s.Grace, "grace", 10*time.Second, "how long saves may go on after SIGTERM before they are undone")
	if err := readEnvironment(flags, lookUp); err != nil {
		return Settings{}, err
	}
	if err := flags.Parse(args); err != nil {
		return Settings{}, err
	}
	if flags.NArg() > 0 {
		return Settings{}, fmt.Errorf("%q is no flag of the agent", flags.Arg(0))
	}
	return s, s.check()
}

func addS3Flags(flags *flag.FlagSet, s *Settings) {
	flags.StringVar(&s.S3.Endpoint, "s3-endpoint", "", "URL of the S3 server for snapshots; empty: they stay on their nodes")
	flags.StringVar(&s.S3.Region, "s3-region", "us-east-1", "region of the bucket")
	flags.StringVar(&s.S3.Bucket, "s3-bucket", "", "bucket for snapshots")
	flags.StringVar(&s.S3.Prefix, "s3-prefix", "", "beginning of the names of all objects, such as the name of the cluster")
	flags.BoolVar(&s.S3.PathStyle, "s3-path-style", true, "name the bucket in the path of requests, not in the host")
	flags.StringVar(&s.S3.Credentials, "s3-credentials", "/etc/sandlot/s3", "folder of access-key-id, secret-access-key and, if need be, session-token")
	flags.StringVar(&s.S3.Keys, "s3-keys", "/etc/sandlot/s3-keys/keys", "file with a line for each key: an id, a space, 32 random bytes in base64; the first one seals")
	flags.DurationVar(&s.S3.Limit, "s3-limit", 2*time.Minute, "how long a request to the S3 server may take, with its repetitions")
	flags.IntVar(&s.MostTransfers, "most-transfers", 2, "uploads and downloads of snapshots at the same time")
}

func readEnvironment(flags *flag.FlagSet, lookUp func(string) (string, bool)) error {
	var errs []error
	flags.VisitAll(func(f *flag.Flag) {
		variable := variablePrefix + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
		if value, isSet := lookUp(variable); isSet {
			if err := flags.Set(f.Name, value); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", variable, err))
			}
		}
	})
	return errors.Join(errs...)
}

func (s Settings) check() error {
	errs := []error{names.CheckName("-node", s.Node)}
	for flag, path := range map[string]string{
		"root": s.Root, "state": s.State, "runsc": s.Runsc, "runsc-root": s.RunscRoot, "socket": s.Socket, "tls-dir": s.TLSDir,
	} {
		if !filepath.IsAbs(path) {
			errs = append(errs, fmt.Errorf("-%s is %q: it must be an absolute path", flag, path))
		}
	}
	if s.MostSaves < 1 || s.MostRestores < 1 || s.WantedBytes < 0 || s.KeepFreeBytes < 0 || s.MostFilesBytes < 0 || s.Grace < 0 {
		errs = append(errs, errors.New("-most-saves and -most-restores must be at least 1; -wanted-bytes, -keep-free-bytes, -most-files-bytes and -grace must not be negative"))
	}
	return errors.Join(append(errs, s.checkS3())...)
}

// HasBucket reports whether the installation keeps snapshots in a bucket.
func (s Settings) HasBucket() bool {
	return s.S3.Endpoint != "" || s.S3.Bucket != "" || s.S3.Prefix != ""
}

var s3Prefix = regexp.MustCompile(`^[A-Za-z0-9][-.A-Za-z0-9_]*(/[A-Za-z0-9][-.A-Za-z0-9_]*)*$`)

func (s Settings) checkS3() error {
	if !s.HasBucket() {
		return nil
	}
	var errs []error
	endpoint, err := url.Parse(s.S3.Endpoint)
	if err != nil || (endpoint.Scheme != "https" && endpoint.Scheme != "http") || endpoint.Host == "" {
		errs = append(errs, fmt.Errorf("-s3-endpoint is %q: it must be a URL such as https://s3.example.com", s.S3.Endpoint))
	}
	if s.S3.Bucket == "" {
		errs = append(errs, errors.New("-s3-bucket is absent: name the bucket"))
	}
	if s.S3.Prefix != "" && !s3Prefix.MatchString(s.S3.Prefix) {
		errs = append(errs, fmt.Errorf("-s3-prefix is %q: it must be words of letters, digits, points, dashes and underscores, with single slashes between them", s.S3.Prefix))
	}
	if s.MostTransfers < 1 || s.S3.Limit <= 0 {
		errs = append(errs, errors.New("-most-transfers must be at least 1, and -s3-limit above 0"))
	}
	return errors.Join(errs...)
}
