package netio

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
)

// gateModel is what a gate has to answer, told with one flag for each fact.
type gateModel struct{ inside, closed, lent, freed, lost bool }

func (m *gateModel) enter() (closed bool) {
	m.inside = true
	return m.closed
}

func (m *gateModel) leave(lent bool) (free, lost bool) {
	m.inside, m.lent = false, lent
	free = m.closed && !lent && !m.freed
	m.freed = m.freed || free
	return free, m.lost
}

func (m *gateModel) close() (first, free bool) {
	first = !m.closed
	free = first && !m.inside && !m.lent
	m.closed, m.freed = true, m.freed || free
	return first, free
}

func (m *gateModel) lose() (alone bool) {
	m.lost = true
	return !m.inside
}

// FuzzGate compares a gate with its model. A Receive that finds the connection closed
// lends nothing.
func FuzzGate(f *testing.F) {
	for _, ops := range []string{"ei", "eilic", "elc", "ecil", "celi", "eLcei", "xeicx", "eLcxei"} {
		f.Add(ops)
	}
	f.Fuzz(func(t *testing.T, ops string) {
		var g gate
		var m gateModel
		closed := false
		for i, op := range ops {
			var got, want [2]bool
			switch {
			case op == 'e' && !m.inside:
				closed = m.enter()
				got[0], want[0] = g.enter(), closed
			case (op == 'i' || op == 'L') && m.inside:
				lent := op == 'L' && !closed
				got[0], got[1] = g.leave(lent)
				want[0], want[1] = m.leave(lent)
			case op == 'c':
				got[0], got[1] = g.close()
				want[0], want[1] = m.close()
			case op == 'x':
				got[0], want[0] = g.lose(), m.lose()
			default:
				continue
			}
			if got != want {
				t.Fatalf("%q, operation %d: %v, want %v", ops, i, got, want)
			}
			if g.closed() != m.closed {
				t.Fatalf("%q, operation %d: closed %v", ops, i, g.closed())
			}
		}
	})
}

// However closes, losses and a Receive meet, the memory is given back once and not
// while anybody may use it, and a loss is told by exactly those who have to.
func TestGateFreesOnce(t *testing.T) {
	for range 5000 {
		var g gate
		var freed, first, told atomic.Int32
		var inUse atomic.Bool
		free := func(does bool) {
			if does {
				freed.Add(1)
				if inUse.Load() {
					t.Error("freed while a Receive runs")
				}
			}
		}
		var work sync.WaitGroup
		work.Go(func() {
			for range 3 {
				closed := g.enter()
				inUse.Store(!closed)
				lent := !closed && rand.IntN(2) == 0
				inUse.Store(false)
				does, lost := g.leave(lent)
				free(does)
				if lost {
					told.Add(1)
				}
			}
			g.enter() // the last one lends nothing
			does, lost := g.leave(false)
			free(does)
			if lost {
				told.Add(1)
			}
		})
		for range 2 {
			work.Go(func() {
				was, does := g.close()
				free(does)
				if was {
					first.Add(1)
				}
			})
		}
		var alone bool
		work.Go(func() { alone = g.lose() })
		work.Wait()
		if freed.Load() != 1 || first.Load() != 1 {
			t.Fatalf("freed %d times, closed %d times", freed.Load(), first.Load())
		}
		if !alone && told.Load() == 0 {
			t.Fatal("a loss that nobody tells")
		}
	}
}

// Two Receives at a time are a caller's mistake, which is told at once.
func TestGateRefusesTwo(t *testing.T) {
	var g gate
	g.enter()
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	g.enter()
}
