package buf

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
)

// held is a View together with what it must show until its release.
type held struct {
	v    View
	want []byte
}

// holder keeps Views for a random time and checks them when it lets go.
type holder struct {
	t   *testing.T
	rnd *rand.Rand
	all []held
}

func (h *holder) add(v View, want []byte) {
	h.t.Helper()
	if !bytes.Equal(v.Bytes(), want) {
		h.t.Fatalf("View of %d bytes differs from the %d bytes taken", v.Len(), len(want))
	}
	h.all = append(h.all, held{v, bytes.Clone(want)})
	if len(want) > 0 && h.rnd.IntN(4) == 0 {
		i := h.rnd.IntN(len(want))
		j := i + h.rnd.IntN(len(want)-i+1)
		h.all = append(h.all, held{v.Slice(i, j), bytes.Clone(want[i:j])})
	}
	if h.rnd.IntN(8) == 0 {
		h.all = append(h.all, held{v.Retain(), bytes.Clone(want)})
	}
}

// drop lets go of all but n Views, in random order.
func (h *holder) drop(n int) {
	h.t.Helper()
	for len(h.all) > n {
		i := h.rnd.IntN(len(h.all))
		x := h.all[i]
		h.all[i] = h.all[len(h.all)-1]
		h.all = h.all[:len(h.all)-1]
		if !bytes.Equal(x.v.Bytes(), x.want) {
			h.t.Fatalf("a held View of %d bytes has changed", len(x.want))
		}
		x.v.Release()
	}
}

// gift is a View to be given: uncounted, its block's only one, or one of several.
func (h *holder) gift() (View, []byte) {
	p := noise(h.rnd, length(h.rnd))
	if h.rnd.IntN(4) == 0 {
		return ViewOf(bytes.Clone(p)), p
	}
	if len(h.all) > 0 && h.rnd.IntN(2) == 0 {
		x := h.all[h.rnd.IntN(len(h.all))]
		return x.v.Retain(), x.want
	}
	b := Acquire(10 + len(p) + 10)
	copy(b.Mem()[10:], p)
	v := b.View(10, 10+len(p))
	if h.rnd.IntN(2) == 0 { // somebody holds what lies behind
		copy(b.Mem()[10+len(p):], "neighbour")
		h.all = append(h.all, held{b.View(10+len(p), 19+len(p)), []byte("neighbour")})
	}
	b.Release()
	return v, p
}

// seeds is how many random runs of n to do: fewer where they are slow.
func seeds(n int) int {
	if testing.Short() || raceEnabled {
		return n / 6
	}
	return n
}

// noise is n random bytes, so that a misplaced piece shows.
func noise(rnd *rand.Rand, n int) []byte {
	p := make([]byte, n)
	src := rnd.Uint64()
	for i := range p {
		p[i] = byte(src >> (i & 31))
		src = src*6364136223846793005 + 1
	}
	return p
}

// length draws a length that is small, around a block boundary, or large.
func length(rnd *rand.Rand) int {
	switch rnd.IntN(8) {
	case 0:
		return rnd.IntN(3)
	case 1:
		return MinBlock - 2 + rnd.IntN(4)
	case 2:
		return rnd.IntN(40 << 10)
	default:
		return rnd.IntN(600)
	}
}

func TestInAgainstModel(t *testing.T) {
	before := Live()
	for seed := range uint64(seeds(40)) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		h := holder{t: t, rnd: rnd}
		var in In
		var model []byte
		for range 400 {
			switch rnd.IntN(10) {
			case 0, 1, 2:
				space := in.Space()
				if len(space) == 0 {
					t.Fatal("Space without room")
				}
				n := min(len(space), length(rnd))
				if rnd.IntN(6) == 0 {
					n = len(space)
				}
				p := noise(rnd, n)
				copy(space, p)
				in.Filled(n)
				model = append(model, p...)
			case 3:
				n := min(length(rnd), len(model))
				if got := in.Next(n); !bytes.Equal(got, model[:n]) {
					t.Fatalf("seed %d: Next(%d) differs", seed, n)
				}
				model = model[n:]
			case 4:
				n := min(length(rnd), len(model))
				h.add(in.View(n), model[:n])
				model = model[n:]
			case 5:
				if n := rnd.IntN(600); in.Skip(n) != min(n, len(model)) {
					t.Fatalf("seed %d: Skip(%d) with %d bytes", seed, n, len(model))
				} else {
					model = model[min(n, len(model)):]
				}
			case 6:
				if rnd.IntN(4) == 0 {
					in.Expect(length(rnd) * rnd.IntN(40))
				} else {
					in.Expect(length(rnd))
				}
			case 7:
				in.Idle()
			case 8:
				h.drop(rnd.IntN(8))
			case 9:
				v, p := h.gift()
				in.Give(v)
				model = append(model, p...)
			}
			if in.Len() != len(model) || !bytes.Equal(in.Peek(len(model)), model) {
				t.Fatalf("seed %d: In holds %d bytes that differ from the model's %d", seed, in.Len(), len(model))
			}
			if in.Peek(len(model)+1) != nil || in.Next(len(model)+1) != nil {
				t.Fatalf("seed %d: more bytes than have arrived", seed)
			}
		}
		in.Close()
		h.drop(0)
	}
	if n := Live() - before; n != 0 {
		t.Errorf("%d blocks leaked", n)
	}
}

// outModel drives an Out and a plain slice alike.
type outModel struct {
	holder
	o     *Out
	bytes []byte // what o must hold
}

func (m *outModel) write() {
	p := noise(m.rnd, length(m.rnd))
	switch m.rnd.IntN(8) {
	case 0, 1:
		m.o.Append(p)
	case 2:
		m.o.AppendString(string(p))
	case 3:
		m.o.RefString(string(p))
	case 4:
		m.o.Commit(append(m.o.Block(), p...)) // outgrows the block at times
	case 5:
		s := strings.Clone(string(p))
		b := m.o.Ref(append(m.o.Block(), "abc"...), s)
		m.o.Commit(append(b, "def"...))
		p = []byte("abc" + s + "def")
	case 6:
		b := m.o.Next(append(m.o.Block(), p...))
		m.o.Commit(append(b, "next"...))
		p = append(p, "next"...)
	case 7:
		patch := noise(m.rnd, m.rnd.IntN(maxReserve+1))
		at := m.o.Reserve(len(patch))
		m.o.Append(p)
		m.o.Patch(at, patch)
		p = append(patch, p...)
	}
	m.bytes = append(m.bytes, p...)
}

// back draws a position and its Mark: just now with writes since, or long ago.
func (m *outModel) back() (Mark, int) {
	if m.rnd.IntN(3) == 0 {
		back := min(length(m.rnd), len(m.bytes))
		return Mark{m.o.base + uint64(len(m.bytes)-back)}, len(m.bytes) - back
	}
	mark, at := m.o.Mark(), len(m.bytes)
	for range m.rnd.IntN(4) {
		m.write()
	}
	return mark, at
}

func (m *outModel) step() {
	switch m.rnd.IntN(12) {
	default:
		m.write()
	case 10:
		src := outModel{holder: holder{t: m.t, rnd: m.rnd}, o: new(Out)}
		for range m.rnd.IntN(6) {
			src.write()
			if len(m.all) > 0 && m.rnd.IntN(3) == 0 {
				x := m.all[m.rnd.IntN(len(m.all))]
				src.o.Move(x.v.Retain())
				src.bytes = append(src.bytes, x.want...)
			}
		}
		for parts := m.rnd.IntN(4); parts > 0 && len(src.bytes) > 0; parts-- {
			n := m.rnd.IntN(len(src.bytes) + 1)
			m.o.MovePart(src.o, n)
			m.bytes = append(m.bytes, src.bytes[:n]...)
			src.bytes = src.bytes[n:]
			if !bytes.Equal(src.o.Bytes(), src.bytes) {
				m.t.Fatal("what MovePart leaves differs")
			}
		}
		src.o.Reset() // what is left is given up; what was moved stays
	case 11:
		dst := outModel{holder: holder{t: m.t, rnd: m.rnd}, o: new(Out)}
		for range m.rnd.IntN(3) {
			dst.write()
		}
		mark, at := m.back()
		m.o.Cut(mark, dst.o)
		dst.bytes = append(dst.bytes, m.bytes[at:]...)
		m.bytes = m.bytes[:at]
		for range m.rnd.IntN(3) {
			m.write()
			dst.write()
		}
		if m.rnd.IntN(2) == 0 {
			m.send()
		}
		if !bytes.Equal(dst.o.Bytes(), dst.bytes) {
			m.t.Fatal("what Cut has moved differs")
		}
		if m.rnd.IntN(2) == 0 {
			m.o.MoveFrom(dst.o)
			m.bytes = append(m.bytes, dst.bytes...)
		} else {
			dst.o.Reset()
		}
	case 4:
		mark, at := m.back()
		if got := m.o.Since(mark); got != len(m.bytes)-at {
			m.t.Fatalf("Since = %d; want %d", got, len(m.bytes)-at)
		}
		m.o.Truncate(mark)
		m.bytes = m.bytes[:at]
	case 5:
		mark, at := m.back()
		m.add(m.o.Take(mark), m.bytes[at:])
		m.bytes = m.bytes[:at]
	case 6:
		if len(m.all) > 0 {
			x := m.all[m.rnd.IntN(len(m.all))]
			m.o.Move(x.v.Retain())
			m.bytes = append(m.bytes, x.want...)
		}
	case 7:
		src := outModel{holder: holder{t: m.t, rnd: m.rnd}, o: new(Out)}
		for range m.rnd.IntN(5) {
			src.write()
		}
		m.o.MoveFrom(src.o)
		m.bytes = append(m.bytes, src.bytes...)
		if src.o.Len() != 0 || len(src.o.Bytes()) != 0 || src.o.cur != nil {
			m.t.Fatal("the source of MoveFrom is not empty")
		}
	case 8:
		m.send()
	case 9:
		m.drop(m.rnd.IntN(8))
	}
}

// send does what a writev would: any number of bytes of what Iov offers.
func (m *outModel) send() {
	var got []byte
	iov := m.o.Iov(make([][]byte, 0, 1+m.rnd.IntN(80)))
	for _, p := range iov {
		if len(p) == 0 {
			m.t.Fatal("an empty piece")
		}
		got = append(got, p...)
	}
	if len(iov) > maxPieces || len(got) > len(m.bytes) || !bytes.Equal(got, m.bytes[:len(got)]) {
		m.t.Fatalf("Iov gave %d pieces of %d bytes that differ", len(iov), len(got))
	}
	n := len(got)
	if n > 0 && m.rnd.IntN(2) == 0 {
		n = m.rnd.IntN(n)
	}
	m.o.Sent(n)
	m.bytes = m.bytes[n:]
}

func TestOutAgainstModel(t *testing.T) {
	before := Live()
	for seed := range uint64(seeds(90)) {
		rnd := rand.New(rand.NewPCG(seed, 2))
		m := outModel{holder: holder{t: t, rnd: rnd}, o: new(Out)}
		for i := range 300 {
			m.step()
			if m.o.Len() != len(m.bytes) || !bytes.Equal(m.o.Bytes(), m.bytes) {
				t.Fatalf("seed %d, step %d: Out holds %d bytes that differ from the model's %d", seed, i, m.o.Len(), len(m.bytes))
			}
		}
		if seed%2 == 0 {
			m.o.Reset()
		} else {
			for m.o.Len() > 0 {
				m.send()
			}
		}
		if m.o.cur != nil {
			t.Fatal("an empty Out holds a block")
		}
		m.drop(0)
	}
	if n := Live() - before; n != 0 {
		t.Errorf("%d blocks leaked", n)
	}
}
