package http1

import "strconv"

// An Error is what was wrong with what the peer sent, or, from End, with what
// was to be sent.
type Error struct {
	Status int   // what answers it; of what a server has sent, and of what was to be sent, 502 and 500
	Offset int64 // in all that was received; -1: not about received bytes
	Limit  bool  // a limit of this side was reached: nothing is wrong with the bytes
	Why    string
}

// Error implements error.
func (e *Error) Error() string {
	s := "http1: " + strconv.Itoa(e.Status) + ": " + e.Why
	if e.Offset >= 0 {
		s += " (at byte " + strconv.FormatInt(e.Offset, 10) + ")"
	}
	return s
}

// sendErr is an error of what was to be sent.
func sendErr(why string) *Error { return &Error{Status: 500, Offset: -1, Why: why} }

// bad is a fault of the peer's at an offset of what is being read.
func bad(at int, why string) *Error { return &Error{Status: 400, Offset: int64(at), Why: why} }

// reason is the phrase of RFC 9110 for a status, or nothing: it means nothing.
func reason(status int) string {
	switch status {
	case 100:
		return "Continue"
	case 200:
		return "OK"
	case 201:
		return "Created"
	case 202:
		return "Accepted"
	case 204:
		return "No Content"
	case 206:
		return "Partial Content"
	case 301:
		return "Moved Permanently"
	case 302:
		return "Found"
	case 303:
		return "See Other"
	case 304:
		return "Not Modified"
	case 307:
		return "Temporary Redirect"
	case 308:
		return "Permanent Redirect"
	}
	return failure(status)
}

// failure is reason for what went wrong.
func failure(status int) string {
	switch status {
	case 400:
		return "Bad Request"
	case 401:
		return "Unauthorized"
	case 403:
		return "Forbidden"
	case 404:
		return "Not Found"
	case 405:
		return "Method Not Allowed"
	case 408:
		return "Request Timeout"
	case 409:
		return "Conflict"
	case 411:
		return "Length Required"
	case 412:
		return "Precondition Failed"
	case 413:
		return "Content Too Large"
	case 414:
		return "URI Too Long"
	case 415:
		return "Unsupported Media Type"
	case 416:
		return "Range Not Satisfiable"
	case 417:
		return "Expectation Failed"
	case 421:
		return "Misdirected Request"
	case 422:
		return "Unprocessable Content"
	case 426:
		return "Upgrade Required"
	case 429:
		return "Too Many Requests"
	case 431:
		return "Request Header Fields Too Large"
	case 500:
		return "Internal Server Error"
	case 501:
		return "Not Implemented"
	case 502:
		return "Bad Gateway"
	case 503:
		return "Service Unavailable"
	case 504:
		return "Gateway Timeout"
	case 505:
		return "HTTP Version Not Supported"
	}
	return ""
}
