package protoidl

import (
	"errors"
	"path"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/limosa-rpc/limosa/idl"
)

// A Reader makes schemas of descriptors. The zero value knows no more of a file than
// its descriptor.
type Reader struct {
	// Source gives the path under which a file is told of, and its text, of which
	// errors show a line; name is the one by which others import it. nil: the name,
	// and no text.
	Source func(name string) (path, text string)
}

// Schema makes a schema of the files with these names, which set has with all that they
// import. Comments and places are those of the descriptors' SourceCodeInfo, if they
// have it. The error is an idl.Errors. set is not changed, and not kept.
func (r Reader) Schema(set *descriptorpb.FileDescriptorSet, listed ...string) (*idl.Schema, error) {
	b, err := r.builder(set)
	if err != nil {
		return nil, err
	}
	for _, name := range listed {
		fd, err := b.registry.FindFileByPath(name)
		if err != nil {
			return nil, b.failed(name, "it is not among the descriptors")
		}
		b.file(fd).Listed = true
	}
	for _, f := range b.schema.Files {
		b.define(b.from[f])
	}
	if len(b.errs) > 0 {
		return nil, b.errs[:min(len(b.errs), 10)]
	}
	for i, f := range b.schema.Files {
		if f.Compiled, err = b.compiled(f); err != nil {
			return nil, b.failed(f.Import, err.Error())
		}
		b.schema.Files[i].Includes = b.includes(f)
	}
	b.keepReached()
	return b.schema, nil
}

// builder checks the descriptors, and begins a schema of them.
func (r Reader) builder(set *descriptorpb.FileDescriptorSet) (*builder, error) {
	b := &builder{
		Reader: r, schema: &idl.Schema{Files: []*idl.File{}}, protos: map[string]*descriptorpb.FileDescriptorProto{},
		files: map[string]*idl.File{}, from: map[*idl.File]protoreflect.FileDescriptor{},
		structs: map[protoreflect.FullName]*idl.Struct{}, enums: map[protoreflect.FullName]*idl.Enum{},
		values: map[protoreflect.EnumValueDescriptor]*idl.EnumValue{}, named: map[*idl.File]map[*idl.File]bool{}, options: map[*idl.File]bool{}, lines: map[*idl.File][]string{}, messageSets: map[protoreflect.FullName]bool{}, local: map[protoreflect.FullName]bool{},
	}
	if b.Source == nil {
		b.Source = func(name string) (string, string) { return name, "" }
	}
	for _, fd := range set.GetFile() {
		b.protos[fd.GetName()] = fd
		b.noteLocal(fd.GetPackage(), fd.GetMessageType(), fd.GetEnumType())
		if e := fd.GetEdition(); fd.GetSyntax() == "editions" && e != descriptorpb.Edition_EDITION_2023 && e != descriptorpb.Edition_EDITION_2024 {
			return nil, b.failed(fd.GetName(), "edition "+e.String()+" is not known here: 2023 and 2024 are")
		}
	}
	if name := b.entangled(set); name != "" {
		return nil, b.failed(name, "its public imports lead to other files in too many ways")
	}
	var err error
	set = b.withoutMessageSets(set)
	if b.registry, err = protodesc.NewFiles(set); err != nil {
		return nil, b.failed(b.blamed(set), strings.TrimPrefix(strings.Map(plain, err.Error()), "proto: "))
	}
	b.types = dynamicpb.NewTypes(b.registry)
	return b, nil
}

// maxWays is how many ways public imports may lead in all, from all files of a set together.
const maxWays = 1 << 20

// entangled gives the file with which there are too many ways through public imports, "" if there are not. The official
// run time goes each of them, for each file that imports the first: with two imports a layer twice as many for each
// layer more.
func (b *builder) entangled(set *descriptorpb.FileDescriptorSet) string {
	ways := map[string]int{} // that begin with a file, itself included
	var count func(name string) int
	count = func(name string) int {
		fd, n := b.protos[name], 1
		if known := ways[name]; known != 0 || fd == nil {
			return max(known, 1)
		}
		ways[name] = 1 // in a circle, which the run time refuses
		for _, i := range fd.GetPublicDependency() {
			if i >= 0 && int(i) < len(fd.Dependency) {
				n = min(n+count(fd.Dependency[i]), maxWays)
			}
		}
		ways[name] = n
		return n
	}
	all := 0
	for _, fd := range set.GetFile() {
		for _, name := range fd.GetDependency() {
			all += count(name)
		}
		if all > maxWays {
			return fd.GetName()
		}
	}
	return ""
}

// withoutMessageSets gives a set in which message sets are messages with extensions like
// others, since the official run time refuses them, and notes their names.
func (b *builder) withoutMessageSets(set *descriptorpb.FileDescriptorSet) *descriptorpb.FileDescriptorSet {
	const maxNumber = 1 << 29 // behind the largest number of a field that is in no message set
	var plain func(within string, all []*descriptorpb.DescriptorProto) bool
	plain = func(within string, all []*descriptorpb.DescriptorProto) (changed bool) {
		for _, m := range all {
			name := strings.TrimPrefix(within+"."+m.GetName(), ".")
			if m.GetOptions().GetMessageSetWireFormat() {
				changed = true
				b.messageSets[protoreflect.FullName(name)] = true
				m.Options.MessageSetWireFormat = nil
				for _, r := range m.ExtensionRange {
					r.End = proto.Int32(min(r.GetEnd(), maxNumber))
				}
			}
			changed = plain(name, m.NestedType) || changed
		}
		return changed
	}
	out := new(descriptorpb.FileDescriptorSet)
	for _, fd := range set.GetFile() {
		if c := proto.CloneOf(fd); plain(c.GetPackage(), c.MessageType) {
			fd = c
		}
		out.File = append(out.File, fd)
	}
	return out
}

// noteLocal notes what is local among definitions. Those that say nothing are visible here:
// whether they are is a matter of features, which protoc and buf look at.
func (b *builder) noteLocal(within string, messages []*descriptorpb.DescriptorProto, enums []*descriptorpb.EnumDescriptorProto) {
	note := func(name string, v descriptorpb.SymbolVisibility) string {
		full := strings.TrimPrefix(within+"."+name, ".")
		if v == descriptorpb.SymbolVisibility_VISIBILITY_LOCAL {
			b.local[protoreflect.FullName(full)] = true
		}
		return full
	}
	for _, e := range enums {
		note(e.GetName(), e.GetVisibility())
	}
	for _, m := range messages {
		b.noteLocal(note(m.GetName(), m.GetVisibility()), m.NestedType, m.EnumType)
	}
}

// names notes that f names a definition of another file, or of itself.
func (b *builder) names(f, of *idl.File, d protoreflect.Descriptor, pos idl.Pos) {
	b.named[f][of] = true
	if f != of && b.local[d.FullName()] {
		b.errs = append(b.errs, f.Error(pos, string(d.FullName())+" is local to "+of.Path))
	}
}

// blamed finds the file that the run time refuses: the first one that it refuses behind those that it imports.
func (b *builder) blamed(set *descriptorpb.FileDescriptorSet) string {
	taken, seen := new(protoregistry.Files), map[string]bool{}
	var add func(name string) (refused string)
	add = func(name string) string {
		x := b.protos[name]
		if x == nil || seen[name] {
			return ""
		}
		seen[name] = true
		for _, dep := range x.GetDependency() {
			if refused := add(dep); refused != "" {
				return refused
			}
		}
		f, err := protodesc.NewFile(x, taken)
		if err != nil || taken.RegisterFile(f) != nil {
			return name
		}
		return ""
	}
	for _, fd := range set.GetFile() {
		if refused := add(fd.GetName()); refused != "" {
			return refused
		}
	}
	return ""
}

// failed is an error about a file.
func (b *builder) failed(name, msg string) error {
	p, _ := b.Source(name)
	return idl.Errors{{Path: p, Msg: strings.Map(plain, msg), Err: errors.New(msg)}}
}

// plain takes the blanks that the official run time varies, so that nobody compares its
// texts, for blanks.
func plain(r rune) rune {
	if r == '\u00a0' {
		return ' '
	}
	return r
}

// A builder is the state of one Schema.
type builder struct {
	Reader
	schema   *idl.Schema
	protos   map[string]*descriptorpb.FileDescriptorProto // by name
	registry *protoregistry.Files
	types    *dynamicpb.Types // for options that the files define themselves

	files   map[string]*idl.File // by name
	from    map[*idl.File]protoreflect.FileDescriptor
	structs map[protoreflect.FullName]*idl.Struct
	enums   map[protoreflect.FullName]*idl.Enum
	values  map[protoreflect.EnumValueDescriptor]*idl.EnumValue
	named   map[*idl.File]map[*idl.File]bool // the files whose definitions a file names
	options map[*idl.File]bool               // the files that define options
	lines   map[*idl.File][]string           // their texts; see pos

	messageSets map[protoreflect.FullName]bool
	local       map[protoreflect.FullName]bool // what edition 2024 calls so: no other file may name it
	errs        idl.Errors
}

// file begins the file of a descriptor, after those that it imports, and declares what
// it defines, so that define finds it.
func (b *builder) file(fd protoreflect.FileDescriptor) *idl.File {
	if f := b.files[fd.Path()]; f != nil {
		return f
	}
	f := &idl.File{
		Language: idl.Protobuf, Import: fd.Path(), Name: strings.TrimSuffix(path.Base(fd.Path()), path.Ext(fd.Path())),
		Package: string(fd.Package()), Namespaces: namespaces(b.protos[fd.Path()].GetOptions()),
	}
	f.Path, f.Text = b.Source(fd.Path())
	const packageField = 2 // of FileDescriptorProto
	f.Doc = docOf(fd.SourceLocations().ByPath(protoreflect.SourcePath{packageField}))
	b.files[fd.Path()], b.from[f], b.named[f] = f, fd, map[*idl.File]bool{}
	for i := range fd.Imports().Len() {
		if dep := fd.Imports().Get(i); !dep.IsPlaceholder() {
			b.file(dep.FileDescriptor)
		}
	}
	b.declareEnums(f, fd.Enums())
	b.declareMessages(f, fd.Messages())
	b.schema.Files = append(b.schema.Files, f)
	return f
}

// namespaces lists the packages of languages that a file's options name, Go's first.
func namespaces(o *descriptorpb.FileOptions) []idl.Namespace {
	var list []idl.Namespace
	for _, n := range []idl.Namespace{
		{Scope: "go", Name: o.GetGoPackage()}, {Scope: "java", Name: o.GetJavaPackage()}, {Scope: "csharp", Name: o.GetCsharpNamespace()},
		{Scope: "php", Name: o.GetPhpNamespace()}, {Scope: "rb", Name: o.GetRubyPackage()},
	} {
		if n.Name != "" {
			list = append(list, n)
		}
	}
	return list
}

// relative is a definition's name within its package, dots and all: Order.Item.
func relative(d protoreflect.Descriptor) string {
	return strings.TrimPrefix(strings.TrimPrefix(string(d.FullName()), string(d.ParentFile().Package())), ".")
}

// compiled is a file's descriptor without comments and places, and without the imports
// that only its options need, of which the schema has none.
func (b *builder) compiled(f *idl.File) ([]byte, error) {
	fd := proto.CloneOf(b.protos[f.Import])
	fd.SourceCodeInfo, fd.OptionDependency = nil, nil
	public, weak := map[string]bool{}, fd.GetWeakDependency()
	for _, i := range fd.GetPublicDependency() {
		public[fd.Dependency[i]] = true
	}
	deps := fd.Dependency
	fd.Dependency, fd.PublicDependency, fd.WeakDependency = nil, nil, nil
	for i, name := range deps {
		if !b.needs(f, name, public[name]) && !(name == descriptorFile && b.options[f]) {
			continue
		}
		if public[name] {
			fd.PublicDependency = append(fd.PublicDependency, int32(len(fd.Dependency)))
		}
		for _, w := range weak {
			if int(w) == i {
				fd.WeakDependency = append(fd.WeakDependency, int32(len(fd.Dependency)))
			}
		}
		fd.Dependency = append(fd.Dependency, name)
	}
	// Once more without the definitions of options, which some readers of .proto files
	// know and others do not: the bytes are the same for all of them then.
	raw, err := proto.MarshalOptions{AllowPartial: true}.Marshal(fd)
	if err != nil {
		return nil, err
	}
	fd = new(descriptorpb.FileDescriptorProto)
	if err := (proto.UnmarshalOptions{AllowPartial: true, Resolver: new(protoregistry.Types)}).Unmarshal(raw, fd); err != nil {
		return nil, err
	}
	return proto.MarshalOptions{AllowPartial: true, Deterministic: true}.Marshal(fd)
}

// needs tells whether f imports the file of a name for more than its options: it is
// public, or it has a definition that f names, or leads to one by imports that are
// public.
func (b *builder) needs(f *idl.File, name string, public bool) bool {
	return public && b.files[name] != nil || b.leads(f, name, map[string]bool{})
}

// leads tells whether the file of a name has what f names, or one that it imports publicly
// does. seen are those that were looked into: public imports may double at each step.
func (b *builder) leads(f *idl.File, name string, seen map[string]bool) bool {
	dep := b.files[name]
	if dep == nil || seen[name] {
		return false
	}
	seen[name] = true
	if b.named[f][dep] {
		return true
	}
	imports := b.from[dep].Imports()
	for i := range imports.Len() {
		if x := imports.Get(i); x.IsPublic && b.leads(f, x.Path(), seen) {
			return true
		}
	}
	return false
}

// includes lists the files that f needs: those of its own imports, and those behind
// public ones that have what it names.
func (b *builder) includes(f *idl.File) []*idl.Include {
	fd, list := b.from[f], []*idl.Include(nil)
	seen := map[*idl.File]bool{}
	add := func(dep *idl.File, pos idl.Pos) {
		if !seen[dep] {
			seen[dep] = true
			list = append(list, &idl.Include{Path: dep.Import, File: dep, Pos: pos})
		}
	}
	const dependencyField = 3 // of FileDescriptorProto
	for i := range fd.Imports().Len() {
		imp := fd.Imports().Get(i)
		pos := b.pos(f, fd.SourceLocations().ByPath(protoreflect.SourcePath{dependencyField, int32(i)}))
		if b.needs(f, imp.Path(), imp.IsPublic) {
			add(b.files[imp.Path()], pos)
		}
	}
	for _, dep := range b.schema.Files { // in their order, for the same result in every run
		if b.named[f][dep] && dep != f {
			add(dep, idl.Pos{})
		}
	}
	return list
}

// keepReached drops the files that none of the listed ones needs.
func (b *builder) keepReached() {
	reached := map[*idl.File]bool{}
	var walk func(f *idl.File)
	walk = func(f *idl.File) {
		if !reached[f] {
			reached[f] = true
			for _, inc := range f.Includes {
				walk(inc.File)
			}
		}
	}
	for _, f := range b.schema.Files {
		if f.Listed {
			walk(f)
		}
	}
	kept := b.schema.Files[:0]
	for _, f := range b.schema.Files {
		if reached[f] {
			kept = append(kept, f)
		}
	}
	b.schema.Files = kept
}

// pos is a place of the schema, if the descriptor tells of it.
func (b *builder) pos(f *idl.File, l protoreflect.SourceLocation) idl.Pos {
	if l.EndLine == 0 && l.EndColumn == 0 {
		return idl.Pos{}
	}
	lines, cut := b.lines[f]
	if !cut { // once: there may be as many definitions as lines
		lines = strings.Split(f.Text, "\n")
		b.lines[f] = lines
	}
	source := ""
	if l.StartLine >= 0 && l.StartLine < len(lines) {
		source = idl.SourceLine(lines[l.StartLine], 1)
	}
	return posIn(source, l.StartLine, l.StartColumn)
}

// Pos makes a place of one in Protobuf's way, with lines and columns from 0, where a tab
// goes on to the next column that 8 divides. text is the file's, without which a tab
// counts as such a tool has counted it.
func Pos(text string, line, col int) idl.Pos {
	return posIn(idl.SourceLine(text, line+1), line, col)
}

// posIn is Pos in a line of the text, "" if that is not known.
func posIn(source string, line, col int) idl.Pos {
	at := 0
	if source == "" {
		return idl.Pos{Line: line + 1, Col: col + 1}
	}
	for n := 0; at < len(source) && n < col; at++ {
		if source[at] == '\t' {
			n += 8 - n%8
		} else {
			n++
		}
	}
	return idl.Pos{Line: line + 1, Col: at + 1}
}

// docOf is the comment before a definition, else the one behind it, without the blank
// that follows the slashes.
func docOf(l protoreflect.SourceLocation) string {
	text := l.LeadingComments
	if text == "" {
		text = l.TrailingComments
	}
	lines := strings.Split(strings.TrimRight(text, " \t\n"), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(strings.TrimPrefix(line, " "), " \t\r")
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}

// at gives the place of a definition's name, and its comment. All descriptors of
// definitions have their names in field 1.
func (b *builder) at(f *idl.File, d protoreflect.Descriptor) (idl.Pos, string) {
	const nameField = 1
	locations := d.ParentFile().SourceLocations()
	whole := locations.ByDescriptor(d)
	name := whole
	if whole.Path != nil {
		p := append(protoreflect.SourcePath(nil), whole.Path...)
		if x := locations.ByPath(append(p, nameField)); x.Path != nil {
			name = x
		}
	}
	return b.pos(f, name), docOf(whole)
}
