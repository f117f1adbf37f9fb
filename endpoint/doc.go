// Package endpoint keeps the connections to one target: it dials them, chooses
// one for each call, replaces those that break, and leaves a target that is down
// in peace for a while. limosa.Client is an Endpoint with interceptors and
// options; docs/how/limosa.md tells its journeys.
package endpoint
