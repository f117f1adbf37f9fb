package endpoint

// Earned sets what calls have earned toward retries, and tells it.
func (e *Endpoint) Earned(have int) (now func() int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.mu.earned = have
	return func() int {
		e.mu.Lock()
		defer e.mu.Unlock()
		return e.mu.earned
	}
}
