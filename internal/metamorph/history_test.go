package metamorph_test

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"iter"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/internal/metamorph/gen/ledger"
	"github.com/limosa-rpc/limosa/rpc"
)

// An event is what a call came to.
type event struct {
	call   string // what was asked
	values string // what was answered
	failed bool
	code   rpc.Code
	msg    string // of an error that a handler has made for its caller
	note   string // the metadata of the answer
}

// seenBy gives what of it forms without metadata or codes tell as well.
func (e event) seenBy(w way) event {
	if !w.notes() {
		e.note = ""
	}
	if !w.codes() {
		e.code = 0
	}
	return e
}

// posted is the key under which a context has what a poster sends and gets of metadata: it knows
// nothing of a client's options.
type posted struct{}

// lanes is how many calls are made at a time.
const lanes = 8

// play makes n calls of the script of a seed, and gives what each came to, lane by lane.
func play(ctx context.Context, to ledger.Ledger, w way, seed uint64, n int, streams bool) []event {
	histories := make([][]event, lanes)
	var all sync.WaitGroup
	for i := range histories {
		all.Go(func() {
			p := &player{ctx: ctx, to: to, way: w, chance: rand.New(rand.NewPCG(seed, uint64(i))), lane: fmt.Sprintf("lane%d/", i)}
			for range n / lanes {
				p.step(streams)
			}
			histories[i] = p.history
		})
	}
	all.Wait()
	return slices.Concat(histories...)
}

// A player plays one lane of a script.
type player struct {
	ctx     context.Context
	to      ledger.Ledger
	way     way
	chance  *rand.Rand
	lane    string
	history []event
}

// step makes the next call. What it draws from chance is the same whatever comes back.
func (p *player) step(streams bool) {
	r, kinds := p.chance, 80
	if streams {
		kinds = 100
	}
	ctx := p.ctx
	var md rpc.Metadata
	if note := p.text(12); p.way.notes() && note != "" {
		note = fmt.Sprintf("n%x", note)
		ctx = context.WithValue(limosa.With(ctx, limosa.Header(noteKey, note), limosa.Trailer(&md)), posted{}, &rpc.Call{Header: rpc.Metadata{{Key: noteKey, Value: note}}})
	}
	e := event{}
	var err error
	left := false
	switch k := r.IntN(kinds); {
	case k < 42:
		entry := p.entry(2)
		e.call = "put " + show(entry)
		var got *ledger.Receipt
		got, err = p.to.Put(ctx, entry)
		e.values = showReceipt(got)
	case k < 66:
		key := p.key()
		e.call = "get " + key
		var got *ledger.Entry
		got, err = p.to.Get(ctx, &ledger.Key{Key: key})
		e.values = show(got)
	case k < 77:
		f := &ledger.Failure{Code: int32(1 + r.IntN(16)), Text: "failed: " + p.text(60)}
		if r.IntN(8) == 0 {
			f.Code = -1
		}
		e.call = fmt.Sprintf("fail %d %q", f.Code, f.Text)
		_, err = p.to.Fail(ctx, f)
		if f.Code < 0 && err != nil {
			err = rpc.CodeOf(err) // its text has a number
		}
	case k < 78:
		e.call = "wait"
		ctx, cancel := context.WithTimeout(ctx, 2*time.Millisecond)
		_, err = p.to.Wait(ctx, &ledger.Key{Key: p.lane})
		cancel()
		err = rpc.CodeOf(err) // whoever has noticed it first
	case k < 80:
		e.call = "get nothing"
		_, err = p.to.Get(ctx, &ledger.Key{Key: p.lane + "none"})
	case k < 88:
		k := &ledger.Key{Key: p.lane, Most: int32(r.IntN(9) - 4)}
		e.call = fmt.Sprintf("scan %d", k.Most)
		e.values, err = collect(p.to.Scan(ctx, k), r.IntN(12), show)
		left = err == nil // and perhaps before the end was there
	case k < 94:
		in := p.entries(r.IntN(5))
		e.call = "total"
		var got *ledger.Receipt
		got, err = p.to.Total(ctx, in)
		e.values = showReceipt(got)
	default:
		in := p.entries(r.IntN(5))
		e.call = "merge"
		e.values, err = collect(p.to.Merge(ctx, in), math.MaxInt, showReceipt)
	}
	if err != nil {
		e.failed, e.code, e.values = true, rpc.CodeOf(err), e.values+" !"
		if own, ok := errors.AsType[*rpc.Error](err); ok {
			e.msg = own.Msg
		}
	}
	if call, ok := ctx.Value(posted{}).(*rpc.Call); ok {
		md = append(md, call.Trailer...)
	}
	if !left {
		e.note = md.Get(answerKey)
	}
	p.history = append(p.history, e)
}

// collect gives what comes of a stream, which is left after most messages.
func collect[T any](seq iter.Seq2[*T, error], most int, show func(*T) string) (string, error) {
	var b strings.Builder
	for m, err := range seq {
		if err != nil {
			return b.String(), err
		}
		fmt.Fprintf(&b, "[%s]", show(m))
		if most--; most <= 0 {
			break
		}
	}
	return b.String(), nil
}

// entries gives n entries as a stream.
func (p *player) entries(n int) iter.Seq2[*ledger.Entry, error] {
	var all []*ledger.Entry
	for range n {
		all = append(all, p.entry(1))
	}
	return limosa.Values(slices.Values(all))
}

// key gives one of a few of this lane.
func (p *player) key() string { return fmt.Sprintf("%sk%d", p.lane, p.chance.IntN(12)) }

// numbers are some at which encodings differ.
var numbers = []int64{0, 1, -1, 127, 128, -128, 1<<14 - 1, 1 << 14, math.MaxInt32, math.MinInt32, 1 << 53, 1<<53 + 1, math.MaxInt64, math.MinInt64}

// number draws a number.
func (p *player) number() int64 {
	if r := p.chance; r.IntN(2) == 0 {
		return r.Int64() >> r.IntN(64)
	}
	return numbers[p.chance.IntN(len(numbers))]
}

// weights are some at which texts of numbers differ.
var weights = []float64{0, math.Copysign(0, -1), 1, 0.1, 1e300, 5e-324, math.MaxFloat64, -1.5, 1 << 60}

// text draws a text of up to n characters.
func (p *player) text(n int) string {
	const letters = "abc \"\\/\n\t<&>{}[]:,%\x01é世🐦"
	all := []rune(letters)
	text := make([]rune, p.chance.IntN(n))
	for i := range text {
		text[i] = all[p.chance.IntN(len(all))]
	}
	return string(text)
}

// entry draws an entry with up to depth others behind it.
func (p *player) entry(depth int) *ledger.Entry {
	r := p.chance
	e := &ledger.Entry{Key: p.key(), Amount: p.number(), Kind: ledger.Kind(r.IntN(3)), Flag: r.IntN(2) == 0}
	for range r.IntN(4) {
		e.Tags = append(e.Tags, p.text(40))
		e.Small = append(e.Small, int32(p.number()))
	}
	if n := r.IntN(4); n > 0 {
		e.Counts = map[string]int64{}
		for range n {
			e.Counts[p.text(20)] = p.number()
		}
	}
	switch r.IntN(40) {
	case 0:
		e.Blob = make([]byte, r.IntN(100<<10)) // in pieces, and more than a window
	case 1, 2, 3:
		e.Blob = make([]byte, r.IntN(10<<10))
	default:
		e.Blob = make([]byte, r.IntN(40))
	}
	for i := range e.Blob {
		e.Blob[i] = byte(r.Uint32())
	}
	if r.IntN(3) == 0 {
		e.Weight = new(weights[r.IntN(len(weights))])
	}
	if depth > 0 && r.IntN(4) == 0 {
		e.Next = p.entry(depth - 1)
	}
	return e
}

// show writes an entry: what is empty is written alike whether it is there or not, which not
// all forms tell apart.
func show(e *ledger.Entry) string {
	if e == nil {
		return "none"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%q %d %q %v %v %v %d.%x", e.Key, e.Amount, e.Tags, e.Kind, e.Flag, e.Small, len(e.Blob), crc32.ChecksumIEEE(e.Blob))
	for _, k := range slices.Sorted(maps.Keys(e.Counts)) {
		fmt.Fprintf(&b, " %q=%d", k, e.Counts[k])
	}
	if e.Weight != nil {
		fmt.Fprintf(&b, " w%x", math.Float64bits(*e.Weight))
	}
	if e.Next != nil {
		b.WriteString(" -> " + show(e.Next))
	}
	return b.String()
}

func showReceipt(r *ledger.Receipt) string {
	if r == nil {
		return "none"
	}
	return fmt.Sprintf("%d %d (%s)", r.Sequence, r.Sum, show(r.Old))
}
