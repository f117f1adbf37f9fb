package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/limosa-rpc/limosa/idl/readers"
)

// An oldTree is where the old files are: a directory, or a tree of git. Paths
// that it is asked for are those of the new files.
//
// It is trees that are compared, not files, because files include each other by their
// paths: an included one is read from the old tree as well.
type oldTree struct {
	// root is the directory of the new tree that stands for the whole of the
	// old one; paths are looked up relative to it.
	root   string
	prefix string // of root in git's tree, with slashes

	dir string // of the old files, or
	git *gitTree
}

// A gitTree is what one ref holds.
type gitTree struct {
	ctx   context.Context
	ref   string
	blobs map[string]string // from path, with slashes, to object name
}

// openOldTree finds out what -against means.
//
// A name that is a directory is one, even if there is a branch of that name.
func openOldTree(ctx context.Context, against string, args []string) (*oldTree, error) {
	wd, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	ref, forced := strings.CutPrefix(against, "git:")
	if forced || !isDir(against) {
		return openGit(ctx, ref, wd)
	}
	t := &oldTree{root: wd, dir: against}
	for _, arg := range args {
		// One argument that has a twin below it is enough: the others may be new.
		if p, err := t.path(arg); err == nil && exists(p) {
			return t, nil
		}
	}
	// Not the working directory's twin: then that of the one argument.
	if len(args) > 1 {
		return nil, usagef("%s has none of %s", against, strings.Join(args, ", "))
	}
	if t.root, err = filepath.Abs(args[0]); err == nil && !isDir(t.root) {
		t.root = filepath.Dir(t.root)
	}
	return t, err
}

// exists reports whether there is a file or folder at path that can be looked at.
func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// relative gives a path within the old tree; an error that is fs.ErrNotExist
// for what lies outside.
//
// In a directory a path may lead out, as includes of the form ../common do; in a tree of
// git there is no outside.
func (t *oldTree) relative(name string) (string, error) {
	abs, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	rel, err := filepath.Rel(t.root, abs)
	rel = filepath.Join(filepath.FromSlash(t.prefix), rel)
	if err != nil || !filepath.IsLocal(rel) && t.git != nil {
		return "", fmt.Errorf("%s is outside of the old tree: %w", name, fs.ErrNotExist)
	}
	return rel, nil
}

// path gives the file in the old directory for a file of the new tree.
func (t *oldTree) path(name string) (string, error) {
	rel, err := t.relative(name)
	return filepath.Join(t.dir, rel), err
}

// open reads the old version of a file; it is what idl.Thrift wants. What lies
// outside of the trees, such as a directory of -I, has no versions.
func (t *oldTree) open(name string) ([]byte, error) {
	rel, err := t.relative(name)
	if err != nil {
		return os.ReadFile(name)
	}
	if t.git == nil {
		data, err := os.ReadFile(filepath.Join(t.dir, rel))
		// An include that leads out of both trees, to what both have in common.
		if errors.Is(err, fs.ErrNotExist) && !filepath.IsLocal(rel) {
			return os.ReadFile(name)
		}
		return data, err
	}
	blob, ok := t.git.blobs[filepath.ToSlash(rel)]
	// The bare error: readers look for the next directory of -I then.
	if !ok {
		return nil, fs.ErrNotExist
	}
	return runGit(t.git.ctx, "cat-file", "blob", blob)
}

// has tells whether there is an old version of a file.
func (t *oldTree) has(name string) bool {
	if t.git == nil {
		p, err := t.path(name)
		return err == nil && exists(p)
	}
	rel, err := t.relative(name)
	return err == nil && t.git.blobs[filepath.ToSlash(rel)] != ""
}

// below lists the old IDL files below a directory of the new tree, by the
// paths that they have or would have there.
func (t *oldTree) below(dir string) ([]string, error) {
	rel, err := t.relative(dir)
	if err != nil {
		return nil, err
	}
	var inside []string // relative to dir
	known := idls()
	if t.git == nil {
		at := filepath.Join(t.dir, rel)
		if !exists(at) {
			return nil, nil
		}
		found, err := known.Below(at)
		if err != nil {
			return nil, err
		}
		for _, p := range found {
			r, err := filepath.Rel(at, p)
			if err != nil {
				return nil, err
			}
			inside = append(inside, r)
		}
	} else {
		prefix := filepath.ToSlash(rel) + "/"
		if rel == "." {
			prefix = ""
		}
		for p := range t.git.blobs {
			if r, ok := strings.CutPrefix(p, prefix); ok && known.Reads(p) && !readers.Hidden(r) {
				inside = append(inside, filepath.FromSlash(r))
			}
		}
		slices.Sort(inside)
	}
	for i, r := range inside {
		inside[i] = filepath.Join(dir, r)
	}
	return inside, nil
}

// shown is how the old version of a file is named: as git does, or by its path.
func (t *oldTree) shown(name string) string {
	if t.git != nil {
		if rel, err := t.relative(name); err == nil {
			return t.git.ref + ":" + filepath.ToSlash(rel)
		}
		return t.git.ref + ":" + name
	}
	if p, err := t.path(name); err == nil {
		return p
	}
	return name
}

// openGit lists what a ref holds. The program git reads the objects: how they
// are stored is its own business.
//
// The names are listed at once, contents are asked for file by file: a repository may
// have many that are none of ours. --end-of-options keeps a ref that begins with a dash
// from being a flag.
func openGit(ctx context.Context, ref, wd string) (*oldTree, error) {
	prefix, err := runGit(ctx, "rev-parse", "--show-prefix")
	if err != nil {
		return nil, usagef("%s is no directory, and no ref of git: %v", ref, err)
	}
	tree, err := runGit(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", ref+"^{tree}")
	if err != nil {
		return nil, usagef("%s is no directory, and no ref that git knows", ref)
	}
	listed, err := runGit(ctx, "ls-tree", "-r", "-z", "--full-tree", strings.TrimSpace(string(tree)))
	if err != nil {
		return nil, err
	}
	g := &gitTree{ctx: ctx, ref: ref, blobs: map[string]string{}}
	for line := range strings.SplitSeq(string(listed), "\x00") {
		// mode SP type SP object TAB path; 120000 is a symbolic link, whose
		// object holds the name that it points to.
		head, name, ok := strings.Cut(line, "\t")
		if f := strings.Fields(head); ok && len(f) == 3 && f[1] == "blob" && f[0] != "120000" {
			g.blobs[name] = f[2]
		}
	}
	return &oldTree{root: wd, prefix: strings.TrimSuffix(string(prefix), "\n"), git: g}, nil
}

// runGit gives what git prints. Its errors are one line.
//
// It runs in the working directory: refs and prefixes are those of its repository.
func runGit(ctx context.Context, args ...string) ([]byte, error) {
	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if text := strings.TrimSpace(stderr.String()); err != nil && text != "" {
		return nil, errors.New(text)
	}
	return out, err
}
