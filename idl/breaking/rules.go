// Package breaking compares two versions of a schema and says whom the change
// hurts: peers on the wire, those who compile against generated code, or those who
// count on a value. It works on the model of package idl alone, so that every IDL
// that has a reader has it; limosa breaking is its command.
//
// A rule is a kind of change with a name of its own, so that a project can leave out
// what it does on purpose:
//
//	limosa breaking -against main -except field-renamed,behavior idl
//
// What was only added is no finding, unless somebody stumbles over it: a required
// field, an exception, a variant of a union. Renaming is told from removing where
// an id or a use shows it.
//
// docs/how/idl.md tells how definitions are paired and types compared.
package breaking

import "slices"

// A Harm says whom a change hurts.
type Harm string

// The three harms. Wire is the worst: programs made from the two versions
// misunderstand each other. With Source they understand each other, but code
// that uses what is generated has to be changed. With Behavior both stay as they
// are, and mean something else.
const (
	Wire     Harm = "wire"
	Source   Harm = "source"
	Behavior Harm = "behavior"
)

// A Rule is one kind of change that Compare finds.
type Rule struct {
	Name  string // stable: what configurations and scripts know it by
	Harms Harm
	Text  string // one line
}

// Rules lists all rules, the worst first, those that harm alike by their names. The
// list is the caller's.
func Rules() []Rule { return slices.Clone(rules) }

// rules is never changed. A rule's name stands in configurations of users: a new rule
// is added, a name is not used for anything else.
var rules = []Rule{
	// What one version writes the other one reads as something else, or not at all. A
	// field's bytes carry its id and the kind of its type, and nothing more: neither
	// names nor defaults nor the structs' own names are on the wire. A number of an
	// enum without a name is read, but by programs that look for names it is lost.
	{"argument-id-changed", Wire, "an argument has another id"},
	{"argument-id-reused", Wire, "an argument's id is that of another one, with another type"},
	{"argument-type-changed", Wire, "an argument has another type"},
	{"enum-value-changed", Wire, "an enum's value has another number"},
	{"enum-value-removed", Wire, "an enum's number has no name any more"},
	{"exception-id-changed", Wire, "a declared exception of a method has another id"},
	{"exception-id-reused", Wire, "a declared exception's id is that of another one, with another type"},
	{"exception-removed", Wire, "a method does not declare an exception any more"},
	{"exception-type-changed", Wire, "a declared exception of a method has another type"},
	{"field-id-changed", Wire, "a field has another id"},
	{"field-id-reused", Wire, "a field's id is that of another field, with another type"},
	{"field-type-changed", Wire, "a field has another type"},
	{"method-removed", Wire, "a service has a method no more, not from a parent either"},
	{"json-name-changed", Wire, "a field has another name in JSON"},
	{"oneway-changed", Wire, "a method became oneway, or ceased to be"},
	{"package-changed", Wire, "a file has another package, and its services other names"},
	{"required-added", Wire, "a field or argument is required that was not, or did not exist"},
	{"required-removed", Wire, "a field or argument is not required any more, or is gone"},
	{"result-type-changed", Wire, "a method has another result"},
	{"service-removed", Wire, "a service is gone"},
	{"stream-changed", Wire, "a method streams where it did not, or the other way round"},
	{"union-changed", Wire, "a struct or exception became a union, or the other way round"},
	{"union-field-removed", Wire, "a union has a variant no more"},

	// The bytes stay what they are, and generated code does not: a program that is
	// built anew has to be changed. JSON counts as source here, where names are on
	// the wire.
	{"argument-added", Source, "a method has one more argument"},
	{"argument-removed", Source, "a method has an argument no more"},
	{"argument-renamed", Source, "an argument has another name"},
	{"const-removed", Source, "a constant is gone"},
	{"const-type-changed", Source, "a constant has another type"},
	{"enum-value-renamed", Source, "an enum's number has another name"},
	{"exception-renamed", Source, "a declared exception of a method has another name"},
	{"field-removed", Source, "a field that is not required is gone"},
	{"field-renamed", Source, "a field has another name"},
	{"namespace-changed", Source, "code is generated into another package"},
	{"oneof-changed", Source, "a field is in another oneof, or in one no more"},
	{"optional-changed", Source, "a field became optional, or ceased to be"},
	{"service-base-changed", Source, "a service extends another one, or none any more"},
	{"type-kind-changed", Source, "a name stands for another kind of type"},
	{"type-moved", Source, "a type or service moved to another file"},
	{"type-removed", Source, "a struct, union, exception, enum or typedef is gone"},
	{"type-renamed", Source, "a type has another name"},
	{"type-respelled", Source, "a type has another one's bytes: string and binary, i32 and an enum, int32 and uint64"},
	{"typedef-changed", Source, "a typedef stands for another type"},

	// Everything builds and is understood, and means something else: a value that one
	// side fills in by itself, or an answer that the other side has no place for.
	{"const-changed", Behavior, "a constant has another value"},
	{"default-changed", Behavior, "a default value was changed, added or removed"},
	{"enum-openness-changed", Behavior, "an enum takes numbers without a name, or ceased to"},
	{"exception-added", Behavior, "a method declares one more exception, which old callers cannot read"},
	{"union-field-added", Behavior, "a union has one more variant, which old readers see as none"},
}
