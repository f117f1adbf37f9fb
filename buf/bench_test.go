package buf

import (
	"fmt"
	"testing"
)

// BenchmarkFrame moves frames through an In and an Out: received (the copy that
// a recv is), cut, appended, given to writev and dropped.
func BenchmarkFrame(b *testing.B) {
	for _, size := range []int{64, 1 << 10, 16 << 10, 64 << 10} {
		frame := make([]byte, size)
		b.Run(fmt.Sprintf("out/%d", size), func(b *testing.B) {
			var o Out
			iov := make([][]byte, 0, 64)
			for b.Loop() {
				o.Append(frame)
				iov = o.Iov(iov[:0])
				o.Sent(o.Len())
			}
		})
		b.Run(fmt.Sprintf("in/%d", size), func(b *testing.B) {
			var in In
			for b.Loop() {
				for in.Len() < size {
					in.Expect(size - in.Len())
					in.Filled(copy(in.Space(), frame[in.Len():]))
				}
				in.Next(size)
			}
			in.Close()
		})
		b.Run(fmt.Sprintf("view-move/%d", size), func(b *testing.B) {
			var in In
			var o Out
			iov := make([][]byte, 0, 64)
			for b.Loop() {
				for in.Len() < size {
					in.Expect(size - in.Len())
					in.Filled(copy(in.Space(), frame[in.Len():]))
				}
				o.Move(in.View(size))
				iov = o.Iov(iov[:0])
				o.Sent(o.Len())
			}
			in.Close()
		})
	}
}

// BenchmarkBlock is what taking and returning a block costs.
func BenchmarkBlock(b *testing.B) {
	for b.Loop() {
		Acquire(MinBlock).Release()
	}
}
