package queues

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/newsfork/seed-engine/contract"
)

// panicked is the cause of an internal error: where a panic began. Its text is short enough for a
// dead letter; the stack is for the log.
type panicked struct {
	frames []string
	stack  string
}

func (p *panicked) Error() string { return "in " + strings.Join(p.frames, ", called by ") }

// maxFrames is how many functions the text of a panic names.
const maxFrames = 4

const module = "github.com/newsfork/seed-engine/"

// recovered turns a panic of work into an internal error.
func recovered(work func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &contract.Error{Kind: contract.Internal, Op: "queues.Consumer", Message: fmt.Sprint("panic: ", r), Err: &panicked{panicFrames(), string(debug.Stack())}}
		}
	}()
	return work()
}

// panicFrames names the functions that led to the panic that is being recovered, the innermost first
// and without those of the runtime.
func panicFrames() (names []string) {
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(0, pcs[:])])
	began := false
	for more := true; more && len(names) < maxFrames; {
		var f runtime.Frame
		f, more = frames.Next()
		switch {
		case f.Function == "runtime.gopanic":
			began, names = true, nil // of panics within panics the first
		case !began || strings.HasPrefix(f.Function, "runtime."):
		case f.Function == module+"queues.recovered":
			return names
		default:
			names = append(names, strings.TrimPrefix(f.Function, module))
		}
	}
	return names
}
