package netio

// spliceMin is from how many bytes at a time on splicing pays: below, a recv
// and a send that copy cost less than two splices.
const spliceMin = 16 << 10

// A pace decides whether a direction copies or splices, by what was there to be
// read.
type pace struct{ splice bool }

// copied is told how many bytes a receive brought and how many the kernel then
// still held, -1 if it did not say.
func (p *pace) copied(n, left int) { p.splice = n+max(left, 0) >= spliceMin }

// spliced is told how many bytes a splice moved.
func (p *pace) spliced(n int) { p.splice = n >= spliceMin }
