package guide_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/examples/guide/gen/books"
	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/ttheader"
	"github.com/limosa-rpc/limosa/web"
	"github.com/limosa-rpc/limosa/wire"
)

//guide:begin connect
func serveHTTP(ctx context.Context, impl books.Books, l *netio.Listener) error {
	server := limosa.Server{
		Services:  []rpc.Service{books.Service(impl)},
		Protocols: []wire.Protocol{ttheader.Protocol{}, web.Protocol{}, web.HTTP1{}}, // Thrift, gRPC, HTTP/1.1
	}
	return server.Serve(ctx, l)
}

//guide:end

func Example_connect() {
	l, err := limosa.Listen("127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	served := make(chan error, 1)
	go func() { served <- serveHTTP(ctx, newShop(), l) }()
	for _, body := range []string{`{"id":1}`, `{"id":"one"}`} {
		res, err := http.Post("http://"+l.Addr().String()+"/Books/get", "application/json", strings.NewReader(body))
		if err != nil {
			fmt.Println(err)
			return
		}
		text, err := io.ReadAll(res.Body)
		res.Body.Close()
		fmt.Println(res.StatusCode, string(text), err)
	}
	http.DefaultClient.CloseIdleConnections()
	stop()
	fmt.Println(<-served)
	// Output:
	// 200 {"id":1,"title":"Go"} <nil>
	// 400 {"code":"invalid_argument","message":"decode request: json: .id: the string \"one\" where a whole number of 64 bits is expected at 6"} <nil>
	// <nil>
}
