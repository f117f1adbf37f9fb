package sys

import (
	"os"
	"path/filepath"
	"testing"
)

func TestMemory(t *testing.T) {
	const total = "MemTotal:       16000000 kB\nMemFree: 1 kB\n"
	for name, tt := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"machine":      {map[string]string{"proc/meminfo": total}, 16000000 << 10},
		"nothing":      {nil, 0},
		"version 2":    {map[string]string{"proc/meminfo": total, "proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "max\n", "sys/fs/cgroup/a/memory.max": "536870912\n"}, 512 << 20},
		"a container":  {map[string]string{"proc/meminfo": total, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "536870912\n"}, 512 << 20},
		"version 1":    {map[string]string{"proc/meminfo": total, "proc/self/cgroup": "5:cpu:/x\n4:memory:/x\n", "sys/fs/cgroup/memory/x/memory.limit_in_bytes": "1073741824\n"}, 1 << 30},
		"no limit":     {map[string]string{"proc/meminfo": total, "proc/self/cgroup": "4:memory:/\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, 16000000 << 10},
		"out of sight": {map[string]string{"proc/meminfo": total, "proc/self/cgroup": "0::/../../other\n"}, 16000000 << 10},
	} {
		root := t.TempDir()
		for file, text := range tt.files {
			file = filepath.Join(root, file)
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got := memory(root); got != tt.want {
			t.Errorf("%s: %d, want %d", name, got, tt.want)
		}
	}
	if Memory() <= 0 {
		t.Error("this machine has no memory")
	}
}
