//go:build js && wasm

package worker

import (
	"bytes"
	"unsafe"
)

//go:wasmimport worker print
func printLine(at unsafe.Pointer, length int32)

// Console is an io.Writer to the platform's log: every Write is one entry. Writing to os.Stdout
// would cross into JavaScript a dozen times per line.
type Console struct{}

func (Console) Write(p []byte) (int, error) {
	line := bytes.TrimSuffix(p, []byte("\n"))
	printLine(start(line), int32(len(line)))
	return len(p), nil
}
