package lint_test

import (
	"cmp"
	"go/ast"
	"go/token"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	// commentsMin is the share of lines with a comment among those of hand-written
	// code that are not blank, in thousandths.
	commentsMin = 178
	// testsMin is how many lines of tests a package has for each hundred of its own,
	// lines with code both.
	testsMin = 70
	// complexityMax bounds the ways through a function, see complexity.
	complexityMax = 20
)

// A tally counts the lines of a package's hand-written files, without blank ones.
type tally struct {
	code, comments int // of what is no test: lines with code, and lines with nothing but a comment
	beside         int // of code: those with a comment behind it
	tests          int // of tests: lines with code
}

func (y *tally) lines() int { return y.code + y.comments }

// add counts one file.
func (y *tally) add(s *source) {
	lines := slices.Collect(strings.Lines(string(s.text)))
	code := map[int]bool{} // where a token begins or ends
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n.(type) {
		case nil, *ast.File, *ast.Comment, *ast.CommentGroup:
		default:
			code[s.at(n).Line] = true
			code[s.fset.Position(n.End()).Line] = true
		}
		return true
	})
	inside := map[int]bool{} // lines of comments
	for _, g := range s.file.Comments {
		for l := s.at(g).Line; l <= s.fset.Position(g.End()).Line; l++ {
			inside[l] = true
		}
	}
	for i, text := range lines {
		text = strings.TrimSpace(text)
		switch alone := strings.HasPrefix(text, "//") || strings.HasPrefix(text, "/*") || inside[i+1] && !code[i+1]; {
		case text == "":
		case alone && s.test:
		case alone:
			y.comments++
		case s.test:
			y.tests++
		default:
			y.code++
			if inside[i+1] {
				y.beside++
			}
		}
	}
}

// tallies gives each package's, without those of generated files.
func tallies(t *testing.T) map[string]*tally {
	t.Helper()
	all := map[string]*tally{}
	eachSource(t, func(s *source) {
		if s.made {
			return
		}
		rel := s.pkg.rel()
		if all[rel] == nil {
			all[rel] = &tally{}
		}
		all[rel].add(s)
	})
	return all
}

// TestShapeComments holds the share of comments. It is counted twice: as lines
// with nothing but a comment, and with those where one stands behind code.
func TestShapeComments(t *testing.T) {
	all := tallies(t)
	var house, every tally
	for _, rel := range slices.Sorted(maps.Keys(all)) {
		y := all[rel]
		if y.lines() == 0 {
			continue
		}
		t.Logf("%-34s %5d lines, comments .%03d, with those behind code .%03d", rel, y.lines(), 1000*y.comments/y.lines(), 1000*(y.comments+y.beside)/y.lines())
		every.code, every.comments, every.beside = every.code+y.code, every.comments+y.comments, every.beside+y.beside
		if m := moduleOf(rel); m != "bench" && m != "interop" {
			house.code, house.comments, house.beside = house.code+y.code, house.comments+y.comments, house.beside+y.beside
		}
	}
	for name, y := range map[string]*tally{"all": &every, "without bench and interop": &house} {
		share := 1000 * y.comments / y.lines()
		t.Logf("%s: %d lines, comments .%03d, with those behind code .%03d", name, y.lines(), share, 1000*(y.comments+y.beside)/y.lines())
	}
	if share := 1000 * house.comments / house.lines(); share < commentsMin {
		t.Errorf("comments are .%03d of the code, at least .%03d", share, commentsMin)
	}
	if share := 1000 * (every.comments + every.beside) / every.lines(); share < commentsMin {
		t.Errorf("comments are .%03d of all code, at least .%03d", share, commentsMin)
	}
}

// testHelp are the packages that only tests import: what they have is tests of the
// package named.
var testHelp = map[string]string{
	"netio/conntest":                    "netio",
	"netio/internal/nettest":            "netio",
	"internal/protobuf/prototest":       "protobuf",
	"internal/protobuf/prototest/known": "protobuf",
	"internal/protobuf/prototest/pb":    "protobuf",
	"internal/thrift/thrifttest":        "thrift",
	"internal/rig":                      "",
}

// testedAbove are the packages whose tests stand in the face above them, where a
// codec is tested as it is used; they are counted together with it.
var testedAbove = map[string]string{
	"internal/protobuf/raw":   "protobuf",
	"internal/protobuf/plan":  "protobuf",
	"internal/protobuf/pjson": "protobuf",
	"protobuf/impl":           "protobuf",
}

// TestShapeTests holds how much of tests each package has. The modules that drive
// peers are left out, as are the examples, which the guide's tests run.
func TestShapeTests(t *testing.T) {
	sums := map[string]*tally{}
	for rel, y := range tallies(t) {
		home, help := testHelp[rel]
		if !help {
			home = cmp.Or(testedAbove[rel], rel)
		}
		if sums[home] == nil {
			sums[home] = &tally{}
		}
		sums[home].tests += y.tests
		if help {
			sums[home].tests += y.code
		} else {
			sums[home].code += y.code
		}
	}
	for _, rel := range slices.Sorted(maps.Keys(sums)) {
		y := sums[rel]
		if y.code < 10 || outside(rel) {
			continue // a package clause, a main of one call
		}
		share := 100 * y.tests / y.code
		t.Logf("%-30s %5d lines, %5d of tests, %d.%02d", rel, y.code, y.tests, share/100, share%100)
		if share < testsMin {
			t.Errorf("%s has .%02d lines of tests for each of its own, at least .%d", rel, share, testsMin)
		}
	}
}

// complexity is McCabe's number of a function: one, and one for each place where
// the way forks. Functions within it count for it.
func complexity(f *ast.FuncDecl) int {
	n := 1
	ast.Inspect(f, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.IfStmt, *ast.ForStmt, *ast.RangeStmt:
			n++
		case *ast.CaseClause:
			if node.List != nil {
				n++
			}
		case *ast.CommClause:
			if node.Comm != nil {
				n++
			}
		case *ast.BinaryExpr:
			if node.Op == token.LAND || node.Op == token.LOR {
				n++
			}
		}
		return true
	})
	return n
}

// whyLong is how a comment says why its function is long.
var whyLong = regexp.MustCompile(`\bis long\b|\blength\b|\ba case for each\b|\bone loop\b|\ba loop\b`)

// TestShapeLongFunctions finds functions above 60 lines or complexity 20 whose
// comment does not say why.
func TestShapeLongFunctions(t *testing.T) {
	n := 0
	eachSource(t, func(s *source) {
		if s.made || s.test {
			return
		}
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			lines, ways := s.lines(f), complexity(f)
			if lines <= funcLinesWarn && ways <= complexityMax {
				continue
			}
			n++
			if f.Doc == nil || !whyLong.MatchString(strings.ReplaceAll(f.Doc.Text(), "\n", " ")) {
				t.Errorf("%v: %s has %d lines and complexity %d, and its comment does not say why", s.at(f), f.Name.Name, lines, ways)
			}
		}
	})
	t.Logf("%d functions are above %d lines or complexity %d", n, funcLinesWarn, complexityMax)
}
