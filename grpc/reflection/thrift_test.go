package reflection_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/limosa-rpc/limosa/rpc"
)

// hard is an IDL with one of everything that has no place of its own in Protobuf.
const hard = `#file a/common.thrift
namespace go common
struct Item { 1: string name }
enum Colour { RED = 1, GREEN = 2 }
service Base { void ping() }
#file b/common.thrift
struct Item { 1: i64 number }
#file shop.thrift
include "a/common.thrift"
typedef list<common.Item> Items
enum Colour { RED = -1, GREEN = 5, LIME = 5 }
enum Nothing {}
exception Gone { 1: string why }
union Choice { 1: string text, 2: list<i32> numbers, 3: map<string, common.Item> items, 4: Colour colour }
union Empty {}
struct List_i32 { 1: i32 x }
struct Tree {
  1: required i64 id, -2: string below, 19500: i32 reserved, 3: list<list<i32>> table, 4: map<i32, list<string>> lists,
  5: map<Colour, Tree> trees, 6: map<double, i32> odd, 7: set<binary> keys, 8: uuid key, 9: optional Tree left,
  10: Items items, 11: map<string, Choice> a_b, 12: map<string, i32> aB, 13: i8 tiny, 14: i16 small, 15: bool yes, 16: double half,
  17: list<map<string, Nothing>> maps, 18: common.Colour other, 19: required list<Gone> gone
}
service Shop extends common.Base {
  Tree grow(1: Tree from, 2: i32 by) throws (1: Gone gone)
  list<i32> count(1: list<Tree> all)
  void nothing()
  oneway void tell(1: string text)
  stream<Tree> watch(1: i64 id)
  Gone feed(1: stream<Tree> trees)
  stream<i32> both(1: stream<string> words)
}
`

// lines shows a descriptor as a .proto file would, in short.
func lines(m protoreflect.MessageDescriptor) (all []string) {
	for i := range m.Fields().Len() {
		f := m.Fields().Get(i)
		kind := f.Kind().String()
		switch {
		case f.IsMap():
			kind = fmt.Sprintf("map<%v, %v>", f.MapKey().Kind(), f.MapValue().Kind())
		case f.Message() != nil:
			kind = string(f.Message().FullName())
		case f.Enum() != nil:
			kind = string(f.Enum().FullName())
		}
		all = append(all, fmt.Sprintf("%v %s %s %d", f.Cardinality(), kind, f.JSONName(), f.Number()))
	}
	return all
}

// Thrift's services are what the package says that they are described as, and the
// official run time finds nothing wrong with that.
func TestThrift(t *testing.T) {
	services := []rpc.Service{{Name: "Shop", IDL: hard}, {Name: "Base", IDL: hard}}
	s := service(t, services, "Shop")
	var got []string
	for i := range s.Methods().Len() {
		m := s.Methods().Get(i)
		mark := map[bool]string{true: "stream "}
		got = append(got, fmt.Sprintf("%s(%s%s) %s%s", m.Name(), mark[m.IsStreamingClient()], m.Input().FullName(), mark[m.IsStreamingServer()], m.Output().FullName()))
	}
	want := []string{
		"grow(thrift.shop.Shop_grow_args) thrift.shop.Tree",
		"count(thrift.shop.Shop_count_args) thrift.shop.Shop_count_result",
		"nothing(thrift.shop.Shop_nothing_args) thrift.shop.Shop_nothing_result",
		"tell(thrift.shop.Shop_tell_args) thrift.shop.Shop_tell_result",
		"watch(thrift.shop.Shop_watch_args) stream thrift.shop.Tree",
		"feed(stream thrift.shop.Tree) thrift.shop.Gone",
		"both(stream thrift.shop.Shop_both_args) stream thrift.shop.Shop_both_result",
		"ping(thrift.a_common.Base_ping_args) thrift.a_common.Base_ping_result",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the methods are\n%s", strings.Join(got, "\n"))
	}
	tree := s.Methods().ByName("grow").Output()
	want = []string{
		"required int64 id 1", "optional string below 100001", "optional int32 reserved 219500",
		"repeated thrift.shop.List_i32_ table 3", "repeated thrift.shop.Tree.ListsEntry lists 4",
		"repeated thrift.shop.Map_shop_Colour_shop_Tree_entry trees 5", "repeated thrift.shop.Map_double_i32_entry odd 6",
		"repeated bytes keys 7", "optional string key 8", "optional thrift.shop.Tree left 9", "repeated thrift.a_common.Item items 10",
		"repeated thrift.shop.Tree.ABEntry a_b 11", "repeated thrift.shop.Map_string_i32_entry aB 12",
		"optional int32 tiny 13", "optional int32 small 14", "optional bool yes 15", "optional double half 16",
		"repeated thrift.shop.Map_string_shop_Nothing maps 17", "optional thrift.a_common.Colour other 18", "repeated thrift.shop.Gone gone 19",
	}
	got = lines(tree)
	for i := range got { // maps are shown as the messages that they are on the wire
		if f := tree.Fields().Get(i); f.IsMap() {
			got[i] = fmt.Sprintf("repeated %s %s %d", f.Message().FullName(), f.JSONName(), f.Number())
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("Tree is\n%s", strings.Join(got, "\n"))
	}
	if !tree.Fields().ByName("lists").IsMap() || !tree.Fields().ByName("a_b").IsMap() {
		t.Error("maps are none")
	}
	choice := tree.Fields().ByName("a_b").MapValue().Message()
	if choice.Oneofs().Len() != 1 || choice.Oneofs().Get(0).Fields().Len() != 4 {
		t.Errorf("Choice has %d oneofs", choice.Oneofs().Len())
	}
	colour := choice.Fields().ByName("colour").Enum()
	if colour.Values().Len() != 3 || colour.Values().ByName("Colour_RED").Number() != -1 {
		t.Errorf("Colour is %v", colour.Values())
	}
	if b := service(t, services, "Base"); b.Methods().Len() != 1 {
		t.Errorf("Base has %d methods", b.Methods().Len())
	}
}

// Every symbol of a Thrift file is found, and files by their names.
func TestThriftSymbols(t *testing.T) {
	services := []rpc.Service{{Name: "Shop", IDL: hard}, {Name: "NotInTheIDL", IDL: hard}}
	set := new(descriptorpb.FileDescriptorSet)
	for _, name := range []string{"a/common.thrift", "b/common.thrift", "shop.thrift", "shop.thrift/Shop"} {
		set.File = append(set.File, files(t, ask(t, services, byName(name))[0]).File[0])
	}
	all(t, set)
	for _, name := range []string{"Shop", "Shop.grow", "thrift.shop.Tree", "thrift.shop.Gone.why", "thrift.shop.Colour_LIME", "thrift.b_common.Item"} {
		files(t, ask(t, services, symbol(name))[0])
	}
	if got := said(ask(t, services, symbol("NotInTheIDL"))[0]); got != "error 5" {
		t.Errorf("a service that its IDL does not have: %s", got)
	}
}
