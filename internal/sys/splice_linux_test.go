package sys

import (
	"bytes"
	"errors"
	"testing"

	"golang.org/x/sys/unix"
)

func TestSplice(t *testing.T) {
	r, w, size, err := OpenPipe(128 << 10)
	if err != nil {
		t.Fatal(err)
	}
	defer Close(r)
	defer Close(w)
	if size < 128<<10 {
		t.Logf("granted %d bytes", size)
	}
	a, b := pair(t)
	c, d := pair(t)
	if n, err := Splice(b, w, 1<<20); n != 0 || err != EAGAIN {
		t.Fatalf("nothing sent: %d, %v; want EAGAIN", n, err)
	}
	want := bytes.Repeat([]byte("limosa"), 1000)
	must(t, a, string(want))
	if n, err := Splice(b, w, 1<<20); n != len(want) || err != nil {
		t.Fatalf("into the pipe: %d, %v", n, err)
	}
	got := make([]byte, len(want)+1)
	if n, err := ReadPipe(r, got[:6]); n != 6 || err != nil {
		t.Fatalf("ReadPipe: %d, %v", n, err)
	}
	if n, err := Splice(r, c, 1<<20); n != len(want)-6 || err != nil {
		t.Fatalf("out of the pipe: %d, %v", n, err)
	}
	if n, err := ReadPipe(r, got[6:]); n != 0 || err != EAGAIN {
		t.Fatalf("ReadPipe of an empty pipe: %d, %v", n, err)
	}
	if n, err := Recv(d, got[6:]); n != len(want)-6 || err != nil || !bytes.Equal(got[:len(want)], want) {
		t.Fatalf("received %d, %v", n, err)
	}
	unix.Shutdown(int(a), unix.SHUT_WR)
	if n, err := Splice(b, w, 1<<20); n != 0 || err != nil {
		t.Fatalf("at the end: %d, %v; want 0, nil", n, err)
	}
	if n, err := Splice(a, b, 1); !errors.Is(err, unix.EINVAL) {
		t.Errorf("without a pipe: %d, %v; want EINVAL", n, err)
	}
}
