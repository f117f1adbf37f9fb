package relay

import "testing"

func TestPace(t *testing.T) {
	type read struct{ n, left int }
	for _, tt := range []struct {
		name  string
		reads []read
		want  string // of each read: c copied, s spliced
	}{
		{"small", []read{{64, 0}, {1024, 0}, {4096, 0}, {1, -1}}, "cccc"},
		{"what is left counts", []read{{4096, 60 << 10}, {60 << 10, 0}, {64 << 10, 0}}, "css"},
		{"a socket that does not tell what is left", []read{{4096, -1}, {16 << 10, -1}, {64 << 10, -1}, {1 << 20, -1}}, "cccs"},
		{"short splices end it", []read{{32 << 10, 0}, {20 << 10, 0}, {16<<10 - 1, 0}, {20 << 10, 0}}, "cssc"},
		{"16 KB at a time", []read{{16 << 10, 0}, {16 << 10, 0}}, "cc"},
	} {
		var p pace
		got := ""
		for _, r := range tt.reads {
			if p.splice {
				got += "s"
				p.spliced(r.n)
			} else {
				got += "c"
				p.copied(r.n, r.left)
			}
		}
		if got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}
