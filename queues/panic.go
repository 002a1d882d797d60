package queues

import (
	"fmt"
	"runtime/debug"

	"github.com/newsfork/seed-engine/contract"
)

// panicked is the cause of an internal error, with the stack of the panic for the log.
type panicked struct{ stack string }

func (p *panicked) Error() string { return "see the stack in the log" }

// recovered calls work and returns a panic as an internal error.
func recovered(work func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &contract.Error{Kind: contract.Internal, Op: "queues.Consumer", Message: fmt.Sprint("panic: ", r),
				Err: &panicked{string(debug.Stack())}}
		}
	}()
	return work()
}
