package collector

// SetMaxSteps changes the bound until restore is called.
func SetMaxSteps(n int) (restore func()) {
	before := maxSteps
	maxSteps = n
	return func() { maxSteps = before }
}
