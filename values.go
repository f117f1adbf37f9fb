package limosa

import "iter"

// Values makes the messages of seq what a method that takes a stream is given:
//
//	sum, err := c.Sum(ctx, limosa.Values(slices.Values(numbers)))
func Values[T any](seq iter.Seq[T]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for v := range seq {
			if !yield(v, nil) {
				return
			}
		}
	}
}
