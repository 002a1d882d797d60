//go:build js && wasm

package worker

import (
	"bytes"
	"errors"
	"strconv"
	"unsafe"
)

// Answer is what a call of a Durable Object gives.
type Answer struct {
	Text  []byte
	OK    bool  // whether what the call ran with SQL is kept; else nothing of it is
	Alarm int64 // ms since 1970, by when the object's alarm is to go off; 0: it need not
}

// A Callee answers the calls of the Worker's Durable Objects. now is the time in ms since 1970, object the
// name of the one that is called, "" for one without; request is good until it returns.
//
// It must not wait for anything, be it a promise, a channel or a timer: then the instance is lost, the
// call fails, and nothing is kept.
type Callee func(now int64, object, operation string, request []byte) Answer

// HandleCalls has the program serve calls of Durable Objects. It is called before Run.
func HandleCalls(c Callee) {
	go func() {
		for length := range calls {
			takeCall(c, inbox[:length])
		}
	}()
}

var calls = make(chan int, 1) // lengths of what is in inbox

// call takes a call of the given length from the inbox. Its answer follows later.
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
	answer := c(now, string(object), string(operation), request)
	ok := int32(0)
	if answer.OK {
		ok = 1
	}
	answerCall(ok, float64(answer.Alarm), start(answer.Text), int32(len(answer.Text)))
}

//go:wasmimport worker sql
func runSQL(statement unsafe.Pointer, statementLength int32, args unsafe.Pointer, argsLength int32) int32

// SQL runs a statement on the SQLite of the Durable Object that is being called. Arguments and answer
// are encoded as in package frontier (AppendArgs, NewRows).
func SQL(statement string, args []byte) (answer []byte, err error) {
	n := runSQL(unsafe.Pointer(unsafe.StringData(statement)), int32(len(statement)), start(args), int32(len(args)))
	answer = make([]byte, max(n, -n))
	load(0, start(answer))
	if n < 0 {
		return nil, errors.New(string(answer))
	}
	return answer, nil
}
