package classify

import (
	"context"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"

	"github.com/newsfork/seed-engine/classify/hosts"
	"github.com/newsfork/seed-engine/classify/internal/lexicon"
	"github.com/newsfork/seed-engine/classify/internal/linear"
	"github.com/newsfork/seed-engine/classify/internal/urltext"
)

// Model classifies URLs: it has the known words and the weights of all features. It is safe for concurrent use.
type Model struct {
	words   *lexicon.Words
	weights *linear.Model
	pages   *linear.Pages // nil without weights of evidence
}

// modelMagic begins a file of a model, and has the version of its format.
const modelMagic = "nsm1"

// The parts of the file follow its magic, each after its length in four bytes, little endian: the words of paths and
// queries, those of hosts, the weights, those of the evidence of pages. The last is empty in a model without.
const (
	modelParts = 4
	leastParts = 3
)

// modelSum identifies the model of this build. "go generate ./classify" writes it with the model.
//
//go:embed model.sum
var modelSum string

// ModelPath is the path of this build's model among the deployed files. Another model has another path, so a program
// never reads its successor's.
func ModelPath() string { return "/classify/" + strings.TrimSpace(modelSum) + ".model" }

// ModelSum returns what identifies the model in a file.
func ModelSum(file []byte) string {
	h := fnv.New64a()
	h.Write(file)
	return fmt.Sprintf("%016x", h.Sum64())
}

// PackModel returns the file of a model. pages, the weights of evidence, might be nil.
func PackModel(general, hosts string, weights, pages []byte) []byte {
	file := []byte(modelMagic)
	parts := [][]byte{[]byte(general), []byte(hosts), weights}
	if len(pages) > 0 {
		parts = append(parts, pages)
	}
	for _, part := range parts {
		file = binary.LittleEndian.AppendUint32(file, uint32(len(part)))
		file = append(file, part...)
	}
	return file
}

// ParseModel reads the model of this build from its file.
func ParseModel(file []byte) (*Model, error) {
	if sum := ModelSum(file); sum != strings.TrimSpace(modelSum) {
		return nil, fmt.Errorf("classify: this is the model %s and not %s, or it is damaged", sum,
			strings.TrimSpace(modelSum))
	}
	return parseModel(file)
}

func parseModel(file []byte) (*Model, error) {
	parts, err := modelFile(file)
	if err != nil {
		return nil, err
	}
	m := &Model{}
	if m.words, err = lexicon.NewWords(string(parts[0]), string(parts[1])); err != nil {
		return nil, err
	}
	if m.weights, err = linear.Parse(parts[2]); err != nil {
		return nil, err
	}
	if len(parts[3]) > 0 {
		if m.pages, err = linear.ParsePages(parts[3]); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// ModelWeights returns the weights of URLs and texts in the file of a model.
func ModelWeights(file []byte) ([]byte, error) {
	parts, err := modelFile(file)
	return parts[2], err
}

func modelFile(file []byte) (parts [modelParts][]byte, err error) {
	if len(file) < len(modelMagic) || string(file[:len(modelMagic)]) != modelMagic {
		return parts, errors.New("classify: this is no file of a model")
	}
	file = file[len(modelMagic):]
	for i := range parts {
		if i >= leastParts && len(file) == 0 {
			break
		}
		if len(file) < 4 {
			return parts, errTruncated
		}
		n := binary.LittleEndian.Uint32(file)
		if file = file[4:]; uint64(n) > uint64(len(file)) {
			return parts, errTruncated
		}
		parts[i], file = file[:n], file[n:]
	}
	return parts, nil
}

var errTruncated = errors.New("classify: the file of the model is cut off")

// NewClassifier returns a classifier for the URLs of the domain that c describes.
func (m *Model) NewClassifier(c Context) *Classifier {
	return &Classifier{model: m.weights, pages: m.pages, sector: hosts.SectorNamed(c.Authority),
		reading: urltext.Reading{Words: m.words}}
}

// Classify classifies one URL. For many, use a Classifier.
func (m *Model) Classify(url string, c Context) Classification {
	return m.NewClassifier(c).Classify(url)
}

// Loader loads the model when it is first needed, once for all that need it at that time. A failure is not kept: the
// next caller tries again. It is safe for concurrent use.
type Loader struct {
	read  func(ctx context.Context, path string) ([]byte, error)
	turn  chan struct{}
	model *Model // by turn
}

// NewLoader returns a Loader of what read finds at ModelPath.
func NewLoader(read func(ctx context.Context, path string) ([]byte, error)) *Loader {
	return &Loader{read: read, turn: make(chan struct{}, 1)}
}

// Model returns the model. It fails when it cannot be read, is not that of this build, or ctx ends.
func (l *Loader) Model(ctx context.Context) (*Model, error) {
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if l.model != nil {
		return l.model, nil
	}
	file, err := l.read(ctx, ModelPath())
	if err != nil {
		return nil, err
	}
	l.model, err = ParseModel(file)
	return l.model, err
}
