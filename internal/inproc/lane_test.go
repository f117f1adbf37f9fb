package inproc

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/rpc"
)

// view is a message of n bytes.
func view(n int) buf.View {
	var out buf.Out
	m := out.Mark()
	out.AppendString(strings.Repeat("x", n))
	return out.Take(m)
}

// Messages come in their order, then the end; a sender is told that it has ended.
func TestLaneInOrder(t *testing.T) {
	ctx, l := t.Context(), newLane()
	for n := range 10 {
		if err := l.push(ctx, view(n+1)); err != nil {
			t.Fatal(err)
		}
	}
	l.close(nil)
	late := view(1)
	if err := l.push(ctx, late); rpc.CodeOf(err) != rpc.FailedPrecondition {
		t.Errorf("push behind the end: %v", err)
	}
	late.Release()
	for n := range 10 {
		v, err := l.pop(ctx)
		if err != nil || v.Len() != n+1 {
			t.Fatalf("message %d: %d bytes, %v", n, v.Len(), err)
		}
		v.Release()
	}
	if _, err := l.pop(ctx); err != io.EOF {
		t.Errorf("the end is %v", err)
	}
}

// The first end counts, and what was sent before it arrives first.
func TestLaneEndsOnce(t *testing.T) {
	l, why := newLane(), errors.New("why")
	if err := l.push(t.Context(), view(1)); err != nil {
		t.Fatal(err)
	}
	l.close(why)
	l.close(nil)
	v, err := l.pop(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	v.Release()
	if _, err := l.pop(t.Context()); err != why || l.failure() != why {
		t.Errorf("the end is %v, %v", err, l.failure())
	}
}

// A sender waits while laneBytes are queued, until some are taken, its context ends, or
// nobody receives any more.
func TestLaneWaitsForRoom(t *testing.T) {
	for name, tt := range map[string]struct {
		then func(l *lane, cancel func())
		want error
	}{
		"taken": {func(l *lane, _ func()) {
			v, err := l.pop(context.Background())
			if err != nil {
				t.Error(err)
			}
			v.Release()
		}, nil},
		"cancelled": {func(_ *lane, cancel func()) { cancel() }, context.Canceled},
		"abandoned": {func(l *lane, _ func()) { l.abandon() }, io.EOF},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				l := newLane()
				if err := l.push(ctx, view(laneBytes)); err != nil {
					t.Fatal(err)
				}
				time.AfterFunc(time.Second, func() { tt.then(l, cancel) })
				began, v := time.Now(), view(1)
				err := l.push(ctx, v)
				if waited := time.Since(began); err != tt.want || waited != time.Second {
					t.Errorf("push = %v after %v, want %v", err, waited, tt.want)
				}
				if err != nil {
					v.Release()
				}
				l.abandon() // gives back what is left
				if len(l.mu.queue) != 0 || l.mu.bytes != 0 {
					t.Errorf("%d messages and %d bytes are left", len(l.mu.queue), l.mu.bytes)
				}
			})
		})
	}
}

// A receiver waits for a message, and no longer than its context.
func TestLaneWaitsForMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLane()
		time.AfterFunc(time.Second, func() { l.push(context.Background(), view(3)) })
		began := time.Now()
		v, err := l.pop(t.Context())
		if err != nil || v.Len() != 3 || time.Since(began) != time.Second {
			t.Fatalf("%d bytes, %v after %v", v.Len(), err, time.Since(began))
		}
		v.Release()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := l.pop(ctx); err != context.DeadlineExceeded {
			t.Errorf("pop = %v", err)
		}
	})
}
