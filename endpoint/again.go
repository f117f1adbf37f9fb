package endpoint

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/limosa-rpc/limosa/rpc"
)

const (
	// attempts is how often one call is tried on connections that turn out to
	// be gone before it was sent; retryPause is before each but the second.
	attempts   = 3
	retryPause = 10 * time.Millisecond
	// A call that its server has refused spends a retry, which retryCalls calls
	// earn; at most retriesSaved are kept, and there at first.
	retryCalls   = 10
	retriesSaved = 1000
)

// again decides whether a call that failed for the nth time with err is tried
// once more, and waits until then. What was not sent has cost no server
// anything; what was refused has, or was lost with its connection and does no
// harm twice: it is paid from what calls have earned.
func (e *Endpoint) again(ctx context.Context, n int, call *rpc.Call, err error) bool {
	sent := rpc.SentOf(err)
	may := sent.Retryable() || sent == rpc.Maybe && call.Method.Idempotent
	if rpc.CodeOf(err) != rpc.Unavailable || !may || sent != rpc.NotSent && !e.spend() {
		return false
	}
	if n > 1 {
		pause := time.NewTimer(retryPause + rand.N(retryPause))
		defer pause.Stop()
		select {
		case <-pause.C:
		case <-ctx.Done():
		}
	}
	return ctx.Err() == nil
}

// spend takes a retry from what was earned.
func (e *Endpoint) spend() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.mu.earned < retryCalls {
		return false
	}
	e.mu.earned -= retryCalls
	return true
}
