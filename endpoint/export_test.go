package endpoint

// Earned sets what calls have earned toward retries, and tells it.
func (p *Endpoint) Earned(have int) (now func() int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.earned = have
	return func() int {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.mu.earned
	}
}
