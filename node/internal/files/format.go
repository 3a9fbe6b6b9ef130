package files

import (
	"encoding/binary"
	"fmt"
	"math"
	"sort"

	"google.golang.org/protobuf/encoding/protowire"
)

// field is one of a message in the wire format of protocol buffers.
type field struct {
	number protowire.Number
	// value is that of a number, bytes that of all else.
	value uint64
	bytes []byte
}

// eachField calls visit for the fields of a message.
func eachField(message []byte, visit func(field) error) error {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return fmt.Errorf("%w: %w", ErrUnknownFormat, protowire.ParseError(n))
		}
		message = message[n:]
		f := field{number: number}
		switch kind {
		case protowire.VarintType:
			f.value, n = protowire.ConsumeVarint(message)
		case protowire.BytesType:
			f.bytes, n = protowire.ConsumeBytes(message)
		default:
			n = protowire.ConsumeFieldValue(number, kind, message)
		}
		if n < 0 {
			return fmt.Errorf("%w: %w", ErrUnknownFormat, protowire.ParseError(n))
		}
		message = message[n:]
		if err := visit(f); err != nil {
			return err
		}
	}
	return nil
}

// The fields of gVisor's messages.
const (
	manifestVersion, manifestPageSize, manifestEndian, manifestMemory, manifestTree = 1, 3, 4, 5, 6
	resourceOf, resourceContainer, resourcePath                                     = 1, 1, 2
	memoryMetadataStart, memoryMetadataEnd, memoryPagesStart                        = 2, 3, 4
	treeStart, treeEnd                                                              = 2, 3
	metadataVersion, metadataRange                                                  = 1, 3
	rangeStart, rangeEnd, rangeIsKept                                               = 1, 2, 5
)

const littleEndian = "little"

// decodeManifest returns the root file systems by container.
func decodeManifest(text []byte) (map[string]root, error) {
	var version, pageSize uint64
	var endian string
	roots := map[string]root{}
	err := eachField(text, func(f field) error {
		switch f.number {
		case manifestVersion:
			version = f.value
		case manifestPageSize:
			pageSize = f.value
		case manifestEndian:
			endian = string(f.bytes)
		case manifestMemory, manifestTree:
			return decodeResource(f, roots)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if version != knownVersion || pageSize == 0 || endian != littleEndian {
		return nil, fmt.Errorf("%w: version %d, pages of %d bytes, %s endian", ErrUnknownFormat, version, pageSize, endian)
	}
	return roots, nil
}

// decodeResource adds what an entry of the manifest says to the root file system that it is about.
func decodeResource(entry field, roots map[string]root) error {
	var container, path string
	numbers := map[protowire.Number]int64{}
	err := eachField(entry.bytes, func(f field) error {
		if f.number == resourceOf {
			return eachField(f.bytes, func(f field) error {
				switch f.number {
				case resourceContainer:
					container = string(f.bytes)
				case resourcePath:
					path = string(f.bytes)
				}
				return nil
			})
		}
		if f.value > math.MaxInt64 {
			return fmt.Errorf("%w: an offset of %d", ErrUnknownFormat, f.value)
		}
		numbers[f.number] = int64(f.value)
		return nil
	})
	if err != nil || path != rootPath {
		return err
	}
	r := roots[container]
	if entry.number == manifestMemory {
		r.metadataStart, r.metadataEnd, r.pagesStart = numbers[memoryMetadataStart], numbers[memoryMetadataEnd], numbers[memoryPagesStart]
	} else {
		r.treeStart, r.treeEnd = numbers[treeStart], numbers[treeEnd]
	}
	roots[container] = r
	return nil
}

// extent is a piece of gVisor's memory and where the file with the pages has it.
type extent struct {
	start, end uint64
	at         int64
}

// extents are in order and do not overlap. What lies between them is zero.
type extents []extent

// decodeMetadata reads how gVisor's memory lies in the file with the pages, from pagesStart on.
func decodeMetadata(text []byte, pagesStart int64) (extents, error) {
	if len(text) < 8 || binary.LittleEndian.Uint64(text) != uint64(len(text)-8) {
		return nil, fmt.Errorf("%w: the length of a description", ErrUnknownFormat)
	}
	var version uint64
	var found extents
	at, last := pagesStart, uint64(0)
	err := eachField(text[8:], func(f field) error {
		switch f.number {
		case metadataVersion:
			version = f.value
		case metadataRange:
			e, isKept, err := decodeRange(f.bytes)
			if err != nil {
				return err
			}
			if e.start < last || e.end <= e.start || e.end > math.MaxInt64 {
				return fmt.Errorf("%w: memory from %d to %d after %d", ErrUnknownFormat, e.start, e.end, last)
			}
			last = e.end
			if isKept {
				e.at = at
				if at > math.MaxInt64-int64(e.end-e.start) {
					return fmt.Errorf("%w: pages after the end of all files", ErrUnknownFormat)
				}
				at += int64(e.end - e.start)
				found = append(found, e)
			}
		}
		return nil
	})
	if err == nil && version != knownVersion {
		err = fmt.Errorf("%w: version %d of a description", ErrUnknownFormat, version)
	}
	return found, err
}

func decodeRange(message []byte) (e extent, isKept bool, err error) {
	err = eachField(message, func(f field) error {
		switch f.number {
		case rangeStart:
			e.start = f.value
		case rangeEnd:
			e.end = f.value
		case rangeIsKept:
			isKept = f.value != 0
		}
		return nil
	})
	return e, isKept, err
}

// find returns the piece at this offset of the memory: where its file has it, or that it is zero, and how long it is at most.
func (e extents) find(offset, length uint64) (at int64, isZero bool, most uint64) {
	next := sort.Search(len(e), func(i int) bool { return e[i].end > offset })
	switch {
	case next == len(e):
		return 0, true, length
	case e[next].start > offset:
		return 0, true, min(length, e[next].start-offset)
	}
	return e[next].at + int64(offset-e[next].start), false, min(length, e[next].end-offset)
}
