package stub

import (
	"fmt"

	"github.com/limosa-rpc/limosa/rpc"
)

// Fill puts the message that a handler gives into the place of a server call's result,
// unless there is an error. The message itself is the handler's still.
func Fill[R any](c *rpc.Call, res *R, err error) error {
	switch {
	case err != nil:
		return err
	case res == nil:
		return fmt.Errorf("%v: the handler gave neither a message nor an error", c.Method)
	}
	*Result[R](c) = *res
	return nil
}
