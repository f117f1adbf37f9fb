package sys

import (
	"bytes"
	"os"
	"path"
	"strconv"
	"strings"
)

// Memory is how many bytes of memory this process may use: the least limit of
// its control groups, version 2 or 1, or what the machine has; 0: not known.
func Memory() int64 { return memory("/") }

// memory is Memory under another root than /, for tests.
func memory(root string) int64 {
	least := int64(0)
	note := func(n int64, ok bool) {
		if ok && n > 0 && (least == 0 || n < least) {
			least = n
		}
	}
	info, _ := os.ReadFile(path.Join(root, "proc/meminfo"))
	for line := range bytes.Lines(info) {
		if kb, is := bytes.CutPrefix(line, []byte("MemTotal:")); is {
			n, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(string(kb)), "kB")), 10, 63-10)
			note(n<<10, err == nil)
		}
	}
	groups, _ := os.ReadFile(path.Join(root, "proc/self/cgroup"))
	for line := range strings.Lines(string(groups)) {
		// hierarchy:controllers:path; version 2 names no controllers.
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) < 3 {
			continue
		}
		dir, file := "sys/fs/cgroup", "memory.max"
		if f[1] != "" {
			if !strings.Contains(","+f[1]+",", ",memory,") {
				continue
			}
			dir, file = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
		}
		// In a container the group may be seen as the root, whatever its path.
		for at := path.Clean("/" + f[2]); ; at = path.Dir(at) {
			text, _ := os.ReadFile(path.Join(root, dir, at, file))
			n, err := strconv.ParseInt(string(bytes.TrimSpace(text)), 10, 64)
			note(n, err == nil && n < 1<<60) // version 1 says "no limit" by a number, version 2 by "max"
			if at == "/" {
				break
			}
		}
	}
	return least
}
