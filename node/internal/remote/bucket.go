package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"
)

// The files of a folder of credentials. The token is optional.
const (
	accessFile = "access-key-id"
	secretFile = "secret-access-key"
	tokenFile  = "session-token"
)

// reads is how often an object is asked for whose content breaks off.
const reads = 3

// errTooLarge means that an object has more bytes than it should.
var errTooLarge = errors.New("it has more bytes than it should")

// Settings say where the bucket is.
type Settings struct {
	// Endpoint is the URL of the S3 server. Region is what its signatures need.
	Endpoint, Region string
	Bucket           string
	// Prefix begins the name of every object. Empty: the objects are at the top.
	Prefix string
	// PathStyle puts the bucket into the path of requests instead of the host.
	PathStyle bool
	// Credentials is a folder with access-key-id, secret-access-key and, if need be, session-token, read for each request.
	Credentials string
	// Keys is the file of the installation's secrets, read for each transfer.
	Keys string
	// Limit bounds each request with its repetitions.
	Limit time.Duration
}

type bucket struct {
	Settings
	client *s3.Client
}

func openBucket(settings Settings) *bucket {
	return &bucket{settings, s3.New(s3.Options{
		BaseEndpoint: &settings.Endpoint,
		Region:       settings.Region,
		UsePathStyle: settings.PathStyle,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return readCredentials(settings.Credentials)
		}),
		// Sealed objects bring their own checksum; not every server knows those of Amazon.
		RequestChecksumCalculation: aws.RequestChecksumCalculationWhenRequired,
		ResponseChecksumValidation: aws.ResponseChecksumValidationWhenRequired,
	})}
}

func readCredentials(folder string) (aws.Credentials, error) {
	var values [3]string
	for i, name := range []string{accessFile, secretFile, tokenFile} {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil && (name != tokenFile || !os.IsNotExist(err)) {
			return aws.Credentials{}, fmt.Errorf("the credentials of the bucket cannot be read: %w", err)
		}
		values[i] = strings.TrimSpace(string(text))
	}
	return aws.Credentials{AccessKeyID: values[0], SecretAccessKey: values[1], SessionToken: values[2], Source: "files"}, nil
}

func (b *bucket) name(parts ...string) *string {
	if b.Prefix != "" {
		parts = append([]string{b.Prefix}, parts...)
	}
	return aws.String(strings.Join(parts, "/"))
}

func (b *bucket) put(ctx context.Context, name string, content []byte) error {
	ctx, cancel := context.WithTimeout(ctx, b.Limit)
	defer cancel()
	_, err := b.client.PutObject(ctx, &s3.PutObjectInput{
		Bucket: &b.Bucket, Key: b.name(name), Body: bytes.NewReader(content), ContentLength: aws.Int64(int64(len(content))),
	})
	return b.explain(ctx, name, err)
}

// get reads an object of at most len(into) bytes and returns what it has. It returns ErrAbsent or errTooLarge.
func (b *bucket) get(ctx context.Context, name string, into []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, b.Limit)
	defer cancel()
	for try := 1; ; try++ {
		got, err := b.read(ctx, name, into)
		if err == nil || try == reads || ctx.Err() != nil || errors.Is(err, errTooLarge) || isAbsent(err) {
			return got, b.explain(ctx, name, err)
		}
	}
}

func (b *bucket) read(ctx context.Context, name string, into []byte) ([]byte, error) {
	answer, err := b.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &b.Bucket, Key: b.name(name)})
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	n, err := io.ReadFull(answer.Body, into)
	if err == nil {
		if more, _ := answer.Body.Read(make([]byte, 1)); more > 0 {
			return nil, errTooLarge
		}
	}
	if errors.Is(err, io.EOF) || (errors.Is(err, io.ErrUnexpectedEOF) && answer.ContentLength != nil && int64(n) == *answer.ContentLength) {
		err = nil
	}
	return into[:n], err
}

// list returns the sizes of the objects below a folder, by their names without the bucket's prefix.
func (b *bucket) list(ctx context.Context, folder string) (map[string]int64, error) {
	found := map[string]int64{}
	prefix := *b.name(folder, "")
	pages := s3.NewListObjectsV2Paginator(b.client, &s3.ListObjectsV2Input{Bucket: &b.Bucket, Prefix: &prefix})
	for pages.HasMorePages() {
		page, err := b.nextPage(ctx, pages)
		if err != nil {
			return nil, b.explain(ctx, folder, err)
		}
		for _, object := range page.Contents {
			// A server that names others must not have them deleted.
			if rest, isBelow := strings.CutPrefix(aws.ToString(object.Key), prefix); isBelow {
				found[folder+"/"+rest] = aws.ToInt64(object.Size)
			}
		}
	}
	return found, nil
}

func (b *bucket) nextPage(ctx context.Context, pages *s3.ListObjectsV2Paginator) (*s3.ListObjectsV2Output, error) {
	ctx, cancel := context.WithTimeout(ctx, b.Limit)
	defer cancel()
	return pages.NextPage(ctx)
}

// remove deletes an object. It succeeds if there is none.
func (b *bucket) remove(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, b.Limit)
	defer cancel()
	_, err := b.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &b.Bucket, Key: b.name(name)})
	if isAbsent(err) {
		return nil
	}
	return b.explain(ctx, name, err)
}

func isAbsent(err error) bool {
	var answered smithy.APIError
	return errors.As(err, &answered) && (answered.ErrorCode() == "NoSuchKey" || answered.ErrorCode() == "NotFound")
}

func (b *bucket) explain(ctx context.Context, name string, err error) error {
	switch {
	case err == nil:
		return nil
	case isAbsent(err):
		return fmt.Errorf("%s: %w", name, ErrAbsent)
	case context.Cause(ctx) != nil && !errors.Is(err, errTooLarge):
		err = context.Cause(ctx)
	}
	return fmt.Errorf("bucket %s at %s, %s: %w", b.Bucket, b.Endpoint, name, err)
}
