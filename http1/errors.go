package http1

import "strconv"

// An Error is what was wrong with what the peer sent, or, from End, with what
// was to be sent. Why is in words of this side: it quotes nothing, and may be shown to
// anybody. Status tells apart whose the matter is: 4xx the peer's, 501 and 505 what it may
// ask others for, 503 too much of what would be fine one by one.
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

// reasons are the phrases of RFC 9110, section 15, for statuses that are sent. They mean
// nothing to a program; who reads a trace likes them.
var reasons = [...]struct {
	status int
	phrase string
}{
	{200, "OK"}, {201, "Created"}, {202, "Accepted"}, {204, "No Content"}, {206, "Partial Content"},
	{301, "Moved Permanently"}, {302, "Found"}, {303, "See Other"}, {304, "Not Modified"}, {307, "Temporary Redirect"}, {308, "Permanent Redirect"},
	{400, "Bad Request"}, {401, "Unauthorized"}, {403, "Forbidden"}, {404, "Not Found"}, {405, "Method Not Allowed"}, {408, "Request Timeout"}, {409, "Conflict"},
	{411, "Length Required"}, {412, "Precondition Failed"}, {413, "Content Too Large"}, {414, "URI Too Long"}, {415, "Unsupported Media Type"},
	{416, "Range Not Satisfiable"}, {417, "Expectation Failed"}, {421, "Misdirected Request"}, {422, "Unprocessable Content"}, {426, "Upgrade Required"},
	{429, "Too Many Requests"}, {431, "Request Header Fields Too Large"},
	{500, "Internal Server Error"}, {501, "Not Implemented"}, {502, "Bad Gateway"}, {503, "Service Unavailable"}, {504, "Gateway Timeout"}, {505, "HTTP Version Not Supported"},
}

// reason is the phrase of a status, or nothing, which is a phrase as well. Heads are
// made once, so that nobody waits for the search.
func reason(status int) string {
	for i := range reasons {
		if reasons[i].status == status {
			return reasons[i].phrase
		}
	}
	return ""
}
