package sys

import (
	"os"
	"syscall"
	"unsafe"
)

// MapGuarded gives n bytes (rounded up to pages) of fresh, zeroed memory
// outside the garbage collector's heap, between two pages that fault when they
// are touched. There is no way to unmap it: an address that once was such
// memory never becomes anything else, so that a stale pointer cannot hit, or
// confuse the collector about, memory of the Go heap.
func MapGuarded(n int) ([]byte, error) {
	page := os.Getpagesize()
	size := (n + page - 1) / page * page
	all, err := syscall.Mmap(-1, 0, size+2*page, syscall.PROT_NONE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return nil, os.NewSyscallError("mmap", err)
	}
	mem := all[page : page+size : page+size]
	if err := syscall.Mprotect(mem, syscall.PROT_READ|syscall.PROT_WRITE); err != nil {
		syscall.Munmap(all) // never handed out
		return nil, os.NewSyscallError("mprotect", err)
	}
	return mem, nil
}

// Protect takes memory of MapGuarded out of use: from now on every access to
// its pages faults. Unprotect brings it back, contents unchanged.
func Protect(mem []byte) error { return protect(mem, syscall.PROT_NONE) }

// Unprotect undoes Protect.
func Unprotect(mem []byte) error { return protect(mem, syscall.PROT_READ|syscall.PROT_WRITE) }

// protect changes what may be done with the pages of mem.
func protect(mem []byte, prot int) error {
	// Safety: mem was mapped from the start of a page, so that extending it
	// down to one stays inside of the mapping.
	p := unsafe.Pointer(unsafe.SliceData(mem))
	head := int(uintptr(p)) & (os.Getpagesize() - 1)
	pages := unsafe.Slice((*byte)(unsafe.Add(p, -head)), head+len(mem))
	return os.NewSyscallError("mprotect", syscall.Mprotect(pages, prot))
}
