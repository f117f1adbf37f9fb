package relay

import (
	"errors"
	"os"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/limosa-rpc/limosa/internal/sys"
)

// descriptors counts this process's open ones.
func descriptors(t testing.TB) int {
	t.Helper()
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(names)
}

// takeN takes n pipes.
func takeN(t *testing.T, p *Pipes, n int) []*Pipe {
	t.Helper()
	ks := make([]*Pipe, n)
	for i := range ks {
		if ks[i] = p.Take(); ks[i] == nil {
			t.Fatalf("no pipe %d", i)
		}
	}
	return ks
}

func TestPipesAreBoundedAndClosed(t *testing.T) {
	before := descriptors(t)
	p := &Pipes{Max: 3}
	ks := takeN(t, p, 3)
	if k := p.Take(); k != nil {
		t.Error("a fourth pipe")
	}
	if n := descriptors(t); n != before+6 {
		t.Errorf("%d descriptors, want %d", n, before+6)
	}
	for _, k := range ks {
		p.Put(k)
	}
	again := takeN(t, p, 3)
	for _, k := range again {
		if k != ks[0] && k != ks[1] && k != ks[2] {
			t.Error("a pipe that was not put back")
		}
		p.Put(k)
	}
	p.Put(nil)
	k := p.Take() // in use while the pool is closed
	if err := errors.Join(p.Close(), p.Close()); err != nil {
		t.Error(err)
	}
	if n := p.Open(); n != 1 {
		t.Errorf("%d pipes open, want the one in use", n)
	}
	p.Put(k)
	if n := descriptors(t); n != before || p.Open() != 0 {
		t.Errorf("%d descriptors, want %d; %d pipes open", n, before, p.Open())
	}
	if p.Take() != nil {
		t.Error("a closed pool gives pipes")
	}
}

func TestPipesNone(t *testing.T) {
	p := &Pipes{Max: -1}
	defer p.Close()
	if p.Take() != nil {
		t.Error("a pipe of a pool of none")
	}
}

// A pipe with bytes in it never serves a second user.
func TestPipesWithBytesAreClosed(t *testing.T) {
	before := descriptors(t)
	p := new(Pipes)
	defer p.Close()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	a, b := uintptr(fds[0]), uintptr(fds[1])
	if _, err := sys.Send(a, []byte("secret")); err != nil {
		t.Fatal(err)
	}
	k := takeN(t, p, 1)[0]
	if n, err := k.fill(b); n != 6 || err != nil || k.len() != 6 {
		t.Fatalf("Fill: %d, %v, holds %d", n, err, k.len())
	}
	p.Put(k)
	sys.Close(a)
	sys.Close(b)
	if n := descriptors(t); n != before || p.Open() != 0 {
		t.Errorf("%d descriptors, want %d; %d pipes open", n, before, p.Open())
	}
}

// Idle pipes are closed after Idle, at the latest after twice that, and the
// ones in use stay.
func TestPipesIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &Pipes{Idle: time.Second}
		defer p.Close()
		ks := takeN(t, p, 20) // more than there are slots
		start := time.Now()
		for _, k := range ks[1:] {
			p.Put(k)
		}
		time.Sleep(time.Second - 1)
		if n := p.Open(); n != 20 {
			t.Errorf("%d pipes open before the time", n)
		}
		time.Sleep(time.Second + 1)
		synctest.Wait()
		if n := p.Open(); n != 1 {
			t.Errorf("%d pipes open after %v, want the one in use", n, time.Since(start))
		}
		p.Put(ks[0])
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if n := p.Open(); n != 0 || p.mu.timer != nil {
			t.Errorf("%d pipes open, timer %v", n, p.mu.timer)
		}
		// And it starts over.
		p.Put(takeN(t, p, 1)[0])
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if n := p.Open(); n != 0 {
			t.Errorf("%d pipes open the second time", n)
		}
	})
}

// A pipe that is used again and again is not closed by the ticks.
func TestPipesBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		made := 0
		p := &Pipes{Idle: time.Second, open: func(size int) (uintptr, uintptr, int, error) {
			made++
			return sys.OpenPipe(size)
		}}
		defer p.Close()
		for range 50 {
			p.Put(takeN(t, p, 1)[0])
			time.Sleep(time.Second / 3)
		}
		if made != 1 {
			t.Errorf("%d pipes made", made)
		}
	})
}

// What the kernel refuses is not asked for all the time.
func TestPipesRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before := descriptors(t)
		asked := 0
		granted, refused := 0, error(nil)
		p := &Pipes{Idle: time.Minute, open: func(size int) (uintptr, uintptr, int, error) {
			asked++
			if refused != nil {
				return 0, 0, 0, refused
			}
			r, w, _, err := sys.OpenPipe(4096)
			return r, w, granted, err
		}}
		refused = unix.EMFILE
		for range 10 {
			if p.Take() != nil {
				t.Fatal("a pipe out of nothing")
			}
		}
		if asked != 1 {
			t.Errorf("asked %d times", asked)
		}
		time.Sleep(pipesPause)
		refused, granted = nil, 8<<10 // what is left beyond the soft limit
		if p.Take() != nil || asked != 2 {
			t.Errorf("a pipe of 8 KB, asked %d times", asked)
		}
		time.Sleep(pipesPause)
		granted = 64 << 10 // smaller than asked for, and worth it
		k := p.Take()
		if k == nil {
			t.Fatal("no pipe of 64 KB")
		}
		refused = unix.ENFILE
		p.Put(k)
		if takeN(t, p, 1)[0] != k {
			t.Error("another pipe")
		}
		p.Put(k)
		p.Close()
		if n := descriptors(t); n != before {
			t.Errorf("%d descriptors, want %d", n, before)
		}
	})
}

// The real limit, fs.pipe-user-pages-soft: it holds for a thread without the
// capabilities that lift it.
func TestPipesUnprivileged(t *testing.T) {
	before := descriptors(t)
	full, small, none := 0, 0, false
	var wg sync.WaitGroup
	wg.Go(func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		h := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var caps [2]unix.CapUserData
		if err := unix.Capget(&h, &caps[0]); err != nil {
			t.Error(err)
			return
		}
		caps[0].Effective &^= 1<<unix.CAP_SYS_RESOURCE | 1<<unix.CAP_SYS_ADMIN
		if err := unix.Capset(&h, &caps[0]); err != nil {
			t.Error(err)
			return
		}
		p := &Pipes{Size: 1 << 20, Max: 200}
		defer p.Close()
		for range 200 {
			k := p.Take()
			switch {
			case k == nil:
				none = true
				return
			case k.size >= 1<<20:
				full++
			default:
				small++
			}
			defer p.Put(k)
		}
	})
	wg.Wait()
	t.Logf("%d pipes of 1 MB, %d smaller ones, then none: %v", full, small, none)
	if full > 64 || !none {
		t.Skip("this system has other limits")
	}
	if n := descriptors(t); n != before {
		t.Errorf("%d descriptors, want %d", n, before)
	}
}

// Many goroutines take and put while the pool ticks and closes: no pipe is held
// by two, none is left.
func TestPipesConcurrently(t *testing.T) {
	before := descriptors(t)
	p := &Pipes{Max: 24, Idle: 200 * time.Microsecond}
	var holders sync.Map
	var wg sync.WaitGroup
	start := make(chan struct{})
	for range 8 {
		wg.Go(func() {
			<-start
			for i := range 300 {
				var ks [4]*Pipe
				for j := range ks {
					k := p.Take()
					if k == nil {
						continue
					}
					if _, twice := holders.LoadOrStore(k, true); twice {
						t.Error("a pipe is held twice")
					}
					ks[j] = k
				}
				for j, k := range ks {
					if k != nil {
						holders.Delete(k)
						if i%50 == 49 && j == 0 {
							k.held = 1 // says that it holds a byte
						}
					}
					p.Put(k)
				}
				if i == 250 {
					p.Close()
				}
			}
		})
	}
	close(start)
	wg.Wait()
	if n := descriptors(t); n != before || p.Open() != 0 {
		t.Errorf("%d descriptors, want %d; %d pipes open", n, before, p.Open())
	}
}

func TestPipesAllocate(t *testing.T) {
	p := new(Pipes)
	defer p.Close()
	p.Put(p.Take())
	if n := testing.AllocsPerRun(1000, func() { p.Put(p.Take()) }); n > 0.01 {
		t.Errorf("%v allocations for a Take and a Put", n)
	}
}
