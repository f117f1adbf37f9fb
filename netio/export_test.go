package netio

// NewOutput is for tests that send beside a connection.
var NewOutput = newOutput
