package fetch

// NewTransport panics: a Worker's transport is in package bindings. It exists so that seedctl, a native program,
// compiles with all other packages for js.
func NewTransport() Transport { panic("fetch: no native transport on js") }
