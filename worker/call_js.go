//go:build js && wasm

package worker

import (
	"bytes"
	"errors"
	"strconv"
	"unsafe"

	"github.com/newsfork/seed-engine/epoch"
)

// Answer is the result of a call to a Durable Object.
type Answer struct {
	Text  []byte
	OK    bool         // commit the call's transaction; false rolls it back
	Alarm epoch.Millis // latest time for the object's next alarm; 0 leaves it as it is
}

// A Callee answers calls to the Worker's Durable Objects. object is the object's name, "" if it has
// none. request is valid until Callee returns.
//
// It must not wait for a promise, a channel or a timer. If it does, the pool drops the instance, the
// call fails and its transaction is rolled back.
type Callee func(now epoch.Millis, object, operation string, request []byte) Answer

// HandleCalls serves calls to Durable Objects with c. Call it before Run.
func HandleCalls(c Callee) {
	go func() {
		for length := range calls {
			takeCall(c, inbox[:length])
		}
	}()
}

var calls = make(chan int, 1) // lengths of the data in inbox

// call accepts a call of the given length in the inbox. The answer follows by answerCall.
//
//go:wasmexport worker_call
func call(length int32) bool {
	calls <- int(length)
	return false
}

//go:wasmimport worker answer
func answerCall(ok int32, alarm float64, at unsafe.Pointer, length int32)

func takeCall(c Callee, data []byte) {
	defer func() {
		if thrown := recover(); thrown != nil {
			recovered("object", "object_failed", thrown, "")
			host.Call("fail", failedUnexpectedly)
		}
	}()
	at, data, _ := bytes.Cut(data, []byte("\n"))
	object, data, _ := bytes.Cut(data, []byte("\n"))
	operation, request, _ := bytes.Cut(data, []byte("\n"))
	now, err := strconv.ParseInt(string(at), 10, 64)
	if err != nil {
		panic(err)
	}
	answer := c(epoch.Millis(now), string(object), string(operation), request)
	ok := int32(0)
	if answer.OK {
		ok = 1
	}
	answerCall(ok, float64(answer.Alarm), start(answer.Text), int32(len(answer.Text)))
}

//go:wasmimport worker database_size
func databaseSize() float64

// DatabaseSize returns the bytes of the SQLite database of the Durable Object being called.
func DatabaseSize() int64 { return int64(databaseSize()) }

//go:wasmimport worker sql
func runSQL(statement unsafe.Pointer, statementLength int32, args unsafe.Pointer, argsLength int32) int32

// SQL runs a statement on the SQLite database of the Durable Object being called. frontier.AppendArgs
// encodes args, and frontier.NewRows decodes the answer.
func SQL(statement string, args []byte) (answer []byte, err error) {
	n := runSQL(unsafe.Pointer(unsafe.StringData(statement)), int32(len(statement)), start(args), int32(len(args)))
	answer = make([]byte, max(n, -n))
	load(0, start(answer))
	if n < 0 {
		return nil, errors.New(string(answer))
	}
	return answer, nil
}
