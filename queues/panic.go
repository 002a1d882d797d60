package queues

import (
	"fmt"
	"runtime/debug"

	"github.com/newsfork/seed-engine/contract"
)

// panicked is the cause of an internal error: the stack of a panic, for the log.
type panicked struct{ stack string }

func (p *panicked) Error() string { return "the log has its stack" }

// recovered turns a panic of work into an internal error.
func recovered(work func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &contract.Error{Kind: contract.Internal, Op: "queues.Consumer", Message: fmt.Sprint("panic: ", r), Err: &panicked{string(debug.Stack())}}
		}
	}()
	return work()
}
