package http2

// A stream is one that is open, or was until its place is taken: the picture of
// its states is in docs/how/http2.md. Guarded by the output lock.
type stream struct {
	id   uint32
	call uint64 // client: the user's id

	live        bool // not closed
	localEnded  bool // we send nothing more
	remoteEnded bool // the peer sends nothing more
	weReset     bool // closed by our RST_STREAM
	peerReset   bool // closed by the peer's
	shown       bool // the user knows it
	refused     bool // the user knows that it cannot be received
	gathered    bool // its body arrives as one event
	headed      bool // client: the answer has begun
	awaited     bool // its body has begun and is not whole: gathered by Cut

	send   int   // send window, less the initial one
	recv   int   // bytes that the peer may send
	window int   // what recv was at most
	owed   int   // bytes consumed and not yet granted anew
	used   int   // bytes consumed since window has grown
	length int64 // content-length; -1: none
	got    int64 // bytes of the body
	kept   *kept // nil: nothing waits
}

// A table finds streams. It is direct-mapped: ids come one after the other, so that they
// collide only while a much older one is open; such streams go to a map. A closed
// stream stays in its place, to be known again, until the place is needed.
type table struct {
	byCall bool
	direct []*stream
	over   map[uint64]*stream // nil: none
	live   int
}

const (
	directMin = 16
	directMax = 16 << 10
)

// init makes an empty table, by call for a client that looks streams up by its own ids, else by stream.
func (t *table) init(byCall bool) { t.byCall, t.direct = byCall, make([]*stream, directMin) }

// key is what the table knows st by.
func (t *table) key(st *stream) uint64 {
	if t.byCall {
		return st.call
	}
	return uint64(st.id)
}

// place is where a key belongs.
func (t *table) place(key uint64) *(*stream) {
	if !t.byCall {
		key >>= 1 // each side has every second id
	}
	return &t.direct[key&uint64(len(t.direct)-1)]
}

// find gives the stream with a key: it may be closed.
func (t *table) find(key uint64) *stream {
	if st := *t.place(key); st != nil && t.key(st) == key {
		return st
	}
	if t.over == nil {
		return nil
	}
	return t.over[key]
}

// add puts a live stream in.
func (t *table) add(st *stream) {
	key := t.key(st)
	t.live++
	at := t.place(key)
	// Only two live streams are a collision; a closed one gives way, and is forgotten with that.
	if *at != nil && (*at).live {
		if t.live > len(t.direct)/2 && len(t.direct) < directMax {
			t.resize(2 * len(t.direct))
			at = t.place(key)
		}
		if *at != nil && (*at).live {
			t.overflow(st)
			return
		}
	}
	*at = st
}

// resize gives the table n places: the live ones keep theirs before closed ones do.
func (t *table) resize(n int) {
	was := t.direct
	t.direct = make([]*stream, n)
	// Twice over all: a closed stream that came first would take the place of a live one.
	for _, live := range []bool{true, false} {
		for _, st := range was {
			if st == nil || st.live != live {
				continue
			}
			switch at := t.place(t.key(st)); {
			case *at == nil:
				*at = st
			case live:
				t.overflow(st)
			}
		}
	}
}

// overflow puts st where it is found by a map: two streams with one place in the array are rare, since ids come
// in order and old ones go.
func (t *table) overflow(st *stream) {
	if t.over == nil {
		t.over = map[uint64]*stream{}
	}
	t.over[t.key(st)] = st
}

// closed notes that a stream of the table is closed.
func (t *table) closed(st *stream) {
	key := t.key(st)
	t.live--
	switch {
	case *t.place(key) != st:
		if delete(t.over, key); len(t.over) == 0 {
			t.over = nil
		}
	case t.byCall:
		*t.place(key) = nil // the same call never comes again
	}
	if len(t.direct) > 4*directMin && t.live < len(t.direct)/16 {
		t.resize(len(t.direct) / 4) // a rush is over: what it took is given back
	}
}

// open makes the stream of an id and, on a client, of a call.
func (s *Session) open(id uint32, call uint64) *stream {
	o := &s.out
	if o.streams.live == 0 {
		o.most = 0
	}
	// The closed one whose place it takes serves again: nobody else knows it.
	at := o.streams.place(uint64(id))
	st := *at
	if st == nil || st.live {
		st = new(stream)
	} else {
		*at = nil
	}
	*st = stream{id: id, call: call, live: true, recv: s.cfg.StreamWindow, window: s.cfg.StreamWindow, length: -1}
	s.out.streams.add(st)
	if s.side == Client {
		o.calls.add(st)
	}
	return st
}

// close ends a stream. What waits for its windows is dropped.
func (s *Session) close(st *stream) {
	o := &s.out
	s.dropKept(st)
	s.awaits(st, false)
	st.live = false
	o.streams.closed(st)
	if s.side == Client {
		o.calls.closed(st)
	}
	if st.gathered && !st.remoteEnded {
		o.ended = append(o.ended, st.id)
	}
}

// awaits notes whether the rest of a stream's body is to be gathered.
func (s *Session) awaits(st *stream, on bool) {
	if st.awaited == on {
		return
	}
	if st.awaited = on; on {
		s.out.awaited++
	} else {
		s.out.awaited--
	}
}

// idle reports whether nobody has opened the stream yet, nor could have.
func (s *Session) idle(id uint32) bool {
	if id&1 == 0 {
		return true // neither side pushes
	}
	if s.side == Client {
		return id >= s.out.next
	}
	return id > s.out.last
}
