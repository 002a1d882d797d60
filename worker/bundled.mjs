// The static files that are part of the bundle, by their paths, compressed and in base64: none where the Worker is deployed, which reads them
// from the binding ASSETS. For runs without one the build puts another module in the place of this one. A Worker with
// static files cannot be asked to handle a batch through a service binding, so most tests and benchmarks are such runs.
export const files = new Map();
