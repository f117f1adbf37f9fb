package limosa_test

import "github.com/limosa-rpc/limosa/internal/rig"

// Short names of what tests share.
type text = rig.Text

var (
	echoMethod  = rig.Echo
	waitMethod  = rig.Wait
	headMethod  = rig.Head
	joinMethod  = rig.Join
	service     = rig.Service
	streams     = rig.Streams
	call        = rig.Call
	start       = rig.Start
	certificate = rig.Certificate
	tally       = rig.Tally
	talk        = rig.Talk
	words       = rig.Words
	netServer   = rig.NetServer
	netClient   = rig.NetClient
	one         = rig.One
	eventually  = rig.Eventually
	waitFor     = rig.WaitFor
	serveOn     = rig.ServeOn
	framedEcho  = rig.FramedEcho
)
