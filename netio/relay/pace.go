package relay

// Two splices cost what a recv and a send of about 24 KB cost; of more, splicing
// is cheaper. It goes on until it moves less than 16 KB, so that bulk whose
// segments come in unequal pieces does not go back and forth.
const (
	spliceFrom  = 24 << 10
	spliceUntil = 16 << 10
)

// A pace decides whether a direction copies or splices, by what was there to be
// read. It begins with copying.
type pace struct{ splice bool }

// copied is told how many bytes a receive brought and how many the kernel then
// still held, -1 if it did not say.
func (p *pace) copied(n, left int) { p.splice = n+max(left, 0) >= spliceFrom }

// spliced is told how many bytes a splice moved.
func (p *pace) spliced(n int) { p.splice = n >= spliceUntil }
