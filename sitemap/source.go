package sitemap

import (
	"bufio"
	"compress/gzip"
	"errors"
	"io"
)

// maxGzipLayers caps nested compression: servers compress files that are gzip already, and some tools do so once
// more.
const maxGzipLayers = 3

// source is the uncompressed document: it decompresses gzip wherever it finds it, regardless of name
// and headers, stops at the limit and copies what it gives to tee.
type source struct {
	raw    rawReader
	body   io.Reader
	layers []*inflater
	left   int64
	tee    io.Writer

	read   int64  // bytes given
	over   bool   // there was more than the limit
	damage string // what is wrong with the compression
	err    error  // of the reader or tee
}

// rawReader remembers an error of the reader below the decompression, lest it is taken for a damaged
// document.
type rawReader struct {
	io.Reader
	err error
}

func (r *rawReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err != nil && err != io.EOF {
		r.err = err
	}
	return n, err
}

func newSource(r io.Reader, limit int64, tee io.Writer) *source {
	s := &source{raw: rawReader{Reader: r}, left: limit, tee: tee}
	body := bufio.NewReaderSize(&s.raw, 32<<10)
	for len(s.layers) < maxGzipLayers && isGzip(body) {
		// A layer around another is limited like the document, but for what compressing adds to
		// what cannot be compressed.
		z := &inflater{in: body, left: limit + 64<<10}
		s.layers = append(s.layers, z)
		body = bufio.NewReaderSize(z, 4<<10)
	}
	s.body = body
	return s
}

func isGzip(r *bufio.Reader) bool {
	magic, _ := r.Peek(2)
	return len(magic) == 2 && magic[0] == 0x1f && magic[1] == 0x8b
}

func (s *source) Read(p []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	if s.left == 0 {
		var one [1]byte
		n, _ := io.ReadFull(s.body, one[:])
		s.over = n > 0
		return 0, s.end(io.EOF)
	}
	if int64(len(p)) > s.left {
		p = p[:s.left]
	}
	n, err := s.body.Read(p)
	s.left -= int64(n)
	s.read += int64(n)
	if s.tee != nil && n > 0 {
		if _, terr := s.tee.Write(p[:n]); terr != nil {
			s.err = terr
			return n, terr
		}
	}
	if err != nil {
		err = s.end(err)
	}
	return n, err
}

// end sorts out why the body ended: the reader failed, the compression is damaged, or all is read.
func (s *source) end(err error) error {
	if s.raw.err != nil {
		s.err = s.raw.err
		return s.err
	}
	for _, z := range s.layers {
		if z.err != nil && s.damage == "" {
			s.damage = z.err.Error()
		}
		s.over = s.over || z.over
	}
	return io.EOF
}

// cut reports whether the document goes on beyond what was read, as far as that can be seen. A wrong checksum is
// found after the last byte, so nothing is missing then.
func (s *source) cut() bool {
	if s.err != nil || s.over {
		return true
	}
	for _, z := range s.layers {
		if z.err != nil && z.err != gzip.ErrChecksum {
			return true
		}
	}
	return false
}

// inflater reads one layer of gzip: all its members, and what can be read of a damaged one.
// Anything but gzip behind the last member is ignored, as gzip(1) does.
type inflater struct {
	in   *bufio.Reader
	z    *gzip.Reader
	left int64
	over bool
	err  error
	done bool
}

func (f *inflater) Read(p []byte) (int, error) {
	for !f.done {
		if f.z == nil {
			z, err := gzip.NewReader(f.in)
			if err != nil {
				return 0, f.stop(err)
			}
			z.Multistream(false)
			f.z = z
		}
		n, err := f.z.Read(p)
		if f.left -= int64(n); f.left < 0 {
			f.over = true
			f.done = true
			return n, nil
		}
		switch {
		case err == nil:
			return n, nil
		case err != io.EOF:
			return n, f.stop(err)
		case !isGzip(f.in) || f.z.Reset(f.in) != nil:
			f.done = true
		default:
			f.z.Multistream(false)
		}
		if n > 0 {
			return n, nil
		}
	}
	return 0, io.EOF
}

func (f *inflater) stop(err error) error {
	f.done = true
	if errors.Is(err, io.ErrUnexpectedEOF) || err == io.EOF {
		err = errors.New("gzip: the compressed data ends early")
	}
	f.err = err
	return io.EOF
}
