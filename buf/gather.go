package buf

// gatherGrowth is how many times the bytes that have arrived a Gather may take: the fewer
// steps, the less is copied. A peer that announces much and sends little costs little.
const gatherGrowth = 4

// A Gather collects in one piece of memory what arrives in parts. What it may take is
// its user's to say, who accounts for many. The zero Gather is empty.
type Gather struct{ body []byte }

// Len is the number of bytes that were added, Cap those of the memory that they take.
func (g *Gather) Len() int { return len(g.body) }

// Cap is the number of bytes of memory that are taken.
func (g *Gather) Cap() int { return cap(g.body) }

// Grow makes room for n more bytes of a whole that will have total at most, and takes no
// more than free bytes of memory for that besides what is taken already. It returns how
// many it has taken. ok is false, and nothing has happened, if free is too little.
func (g *Gather) Grow(n, total, free int) (taken int, ok bool) {
	need := len(g.body) + n
	if need <= cap(g.body) {
		return 0, true
	}
	size := max(need, min(total, gatherGrowth*need))
	if size-cap(g.body) > free {
		size = need
	}
	if size-cap(g.body) > free {
		return 0, false
	}
	grown := uncleared(size)[:len(g.body):size]
	copy(grown, g.body)
	taken = size - cap(g.body)
	g.body = grown
	return taken, true
}

// Add copies p, for which there is room.
func (g *Gather) Add(p []byte) { g.body = append(g.body, p...) }

// View gives what was gathered, and leaves g empty.
func (g *Gather) View() View {
	v := ViewOf(g.body)
	g.body = nil
	return v
}
