package main

import (
	"context"

	"github.com/limosa-rpc/limosa/netio"
)

// serveLooped is netio's event loop, one of them, with answers sent within the
// step: the handler never blocks.
func serveLooped(listening func(string)) error {
	return acceptAll(&netio.Config{Loops: 1}, listening, func(c netio.Conn) {
		l, ok := c.(netio.LoopConn)
		if !ok { // no loops here
			go newAnswerer(c, true).run(c)
			return
		}
		o := &looped{c: l, answerer: answerer{out: c.Output()}}
		o.step, o.done = o.cutAndSend, o.took
		o.turn()
	})
}

// A looped echoes on the loop that owns its connection.
type looped struct {
	answerer
	c    netio.LoopConn
	done func(netio.Outcome, error) // took, bound once
}

// turn goes on until the loop does.
func (o *looped) turn() {
	for {
		owed := o.owed
		o.owed = false
		why, err := o.c.OnReadable(owed, o.step, o.done)
		if why == netio.Parked || !o.goOn(why, err) {
			return
		}
	}
}

// took is called when the loop's turn is over.
func (o *looped) took(why netio.Outcome, err error) {
	if o.goOn(why, err) {
		o.turn()
	}
}

// goOn reports whether there is another turn to be taken at once.
func (o *looped) goOn(why netio.Outcome, _ error) bool {
	switch why {
	case netio.Lost:
		o.c.Close(context.Background())
		return false
	case netio.Full:
		// The peer takes nothing, and nobody may wait for it on the loop.
		go func() {
			o.out.Flush() // an error is OnReadable's to report
			o.turn()
		}()
		return false
	}
	return true
}
