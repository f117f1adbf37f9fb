package health

// FillButOne has h count as many watchers as it takes, but one; it gives the way back.
func (h *Health) FillButOne() (empty func()) {
	change := func(n int) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.mu.watchers += n
	}
	change(watchersMost - 1)
	return func() { change(1 - watchersMost) }
}
