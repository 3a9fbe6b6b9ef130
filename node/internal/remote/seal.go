package remote

import (
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"sandlot.dev/node/internal/store"
)

const (
	envelopeVersion = 1
	// mostEnvelope bounds what is read into memory.
	mostEnvelope = 2 << 20
	digestPrefix = "sha256:"
	uploadBytes  = 16
	nonceBytes   = 12
	// overhead is what sealing adds to a chunk.
	overhead = 16
)

// envelope is the object "manifest": the manifest of the store, sealed.
type envelope struct {
	Version int    `json:"version"`
	KeyID   string `json:"keyId"`
	Nonce   []byte `json:"nonce"`
	Sealed  []byte `json:"sealed"`
}

// sealManifest returns the envelope of a snapshot.
func sealManifest(ring keyRing, m store.Manifest) ([]byte, error) {
	aead, err := manifestCipher(ring, ring.first, m.Key)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	e := envelope{Version: envelopeVersion, KeyID: ring.first, Nonce: make([]byte, nonceBytes)}
	rand.Read(e.Nonce)
	e.Sealed = aead.Seal(nil, e.Nonce, text, manifestContext(ring.first, m.Key))
	return json.Marshal(e)
}

// openManifest returns the manifest of the snapshot, and the cipher of its chunks. It returns a RefusedError if the envelope is
// that of another snapshot, was changed, or needs a key that the node does not have.
func openManifest(ring keyRing, key store.Key, text []byte) (store.Manifest, *chunkCipher, error) {
	var e envelope
	if err := json.Unmarshal(text, &e); err != nil || e.Version != envelopeVersion || len(e.Nonce) != nonceBytes {
		return store.Manifest{}, nil, &RefusedError{key, "its manifest cannot be read"}
	}
	aead, err := manifestCipher(ring, e.KeyID, key)
	if err != nil {
		return store.Manifest{}, nil, &RefusedError{key, err.Error()}
	}
	plain, err := aead.Open(nil, e.Nonce, e.Sealed, manifestContext(e.KeyID, key))
	if err != nil {
		return store.Manifest{}, nil, &RefusedError{key, "its manifest was changed, or is that of another snapshot or key"}
	}
	m, err := store.DecodeManifest(key, plain)
	if err != nil {
		return store.Manifest{}, nil, &RefusedError{key, err.Error()}
	}
	chunks, err := newChunkCipher(ring, e.KeyID, m)
	return m, chunks, err
}

func manifestCipher(ring keyRing, id string, key store.Key) (cipher.AEAD, error) {
	secret, err := ring.deriveNamespaceKey(id, key.Namespace)
	if err != nil {
		return nil, err
	}
	derived, err := derive(secret, nil, "manifest\x00"+key.UID, secretBytes)
	if err != nil {
		return nil, err
	}
	return newAEAD(derived)
}

func manifestContext(id string, key store.Key) []byte {
	return []byte(strings.Join([]string{"sandlot manifest 1", id, key.Namespace, key.UID}, "\x00"))
}

// sumEnvelope is what a download must be given: no other envelope of the bucket has it, not even an earlier one of the snapshot.
func sumEnvelope(text []byte) string {
	sum := sha256.Sum256(text)
	return digestPrefix + hex.EncodeToString(sum[:])
}

// chunkCipher seals the chunks of one snapshot. Its key comes from the manifest, with the checksums in it, so that one key and
// nonce never seal two contents, and an upload that is repeated makes the same objects.
type chunkCipher struct {
	aead cipher.AEAD
	// upload names the folder of the chunks.
	upload string
}

func newChunkCipher(ring keyRing, id string, m store.Manifest) (*chunkCipher, error) {
	secret, err := ring.deriveNamespaceKey(id, m.Namespace)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	salt := sha256.Sum256(text)
	derived, err := derive(secret, salt[:], "chunks\x00"+m.UID, secretBytes+uploadBytes)
	if err != nil {
		return nil, err
	}
	aead, err := newAEAD(derived[:secretBytes])
	return &chunkCipher{aead, hex.EncodeToString(derived[secretBytes:])}, err
}

// seal encrypts in place: the buffer needs room for the overhead.
func (c *chunkCipher) seal(at chunk, plain []byte) []byte {
	return c.aead.Seal(plain[:0], at.nonce(), plain, []byte(c.upload))
}

// open decrypts in place.
func (c *chunkCipher) open(at chunk, sealed []byte) ([]byte, error) {
	return c.aead.Open(sealed[:0], at.nonce(), sealed, []byte(c.upload))
}

// chunk is a part of a file, and an object of the bucket.
type chunk struct {
	// file is the place of the file in the manifest, index that of the chunk in the file.
	file   int
	index  int64
	offset int64
	bytes  int64
}

func listChunks(m store.Manifest) []chunk {
	var chunks []chunk
	for file, f := range m.Files {
		for offset := int64(0); offset < f.Bytes; offset += store.ChunkBytes {
			chunks = append(chunks, chunk{file, offset / store.ChunkBytes, offset, min(store.ChunkBytes, f.Bytes-offset)})
		}
	}
	return chunks
}

// name is that of the object below the folder of the upload.
func (c chunk) name() string { return fmt.Sprintf("%d-%08d", c.file, c.index) }

func (c chunk) nonce() []byte {
	nonce := binary.BigEndian.AppendUint32(nil, uint32(c.file))
	return binary.BigEndian.AppendUint64(nonce, uint64(c.index))
}
