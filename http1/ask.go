package http1

// An ask is what the answer to a request depends on. Cut finds it in the head, and puts it
// into the event; Apply takes it into the list of those that wait for their answers, a
// byte each. So the sending half knows of each request what it has to, without a look at
// what the read role owns, and the user has nothing to hand through.
type ask uint8

const (
	askHead     ask = 1 << iota // HEAD: the answer has no body
	askOld                      // the peer speaks HTTP/1.0
	askLast                     // the answer is the last of the connection
	askContinue                 // the peer waits for a word before it sends the body
	askEnded                    // all of the request has come
)

// asks are the requests that have come and are not answered, in their order.
type asks struct {
	list  []ask
	first int    // of those that are left
	next  uint64 // the number of the first
}

func (q *asks) len() int { return len(q.list) - q.first }

// at finds a request by its number; nil: it was answered, or has not come.
func (q *asks) at(id uint64) *ask {
	if id < q.next || id-q.next >= uint64(q.len()) {
		return nil
	}
	return &q.list[q.first+int(id-q.next)]
}

// push adds a request. Those that were answered leave room in front, which is used before more is made:
// a connection lives long, and has few requests at once.
func (q *asks) push(a ask) *ask {
	if q.first > 0 && len(q.list) == cap(q.list) {
		q.list = q.list[:copy(q.list, q.list[q.first:])]
		q.first = 0
	}
	q.list = append(q.list, a)
	return &q.list[len(q.list)-1]
}

// pop takes off the first, which was answered.
func (q *asks) pop() {
	q.next++
	if q.first++; q.first == len(q.list) {
		q.list, q.first = q.list[:0], 0
	}
}

// drop takes back the last, which cannot be received.
func (q *asks) drop() { q.list = q.list[:len(q.list)-1] }
