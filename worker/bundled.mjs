// Static files in the bundle, by path, gzipped and in base64. A deployed Worker has none: it reads them from the binding
// ASSETS. For runs without that binding the build replaces this module. Most tests and benchmarks run without it, since
// a Worker with static files cannot receive queue batches through a service binding.
export const files = new Map();
