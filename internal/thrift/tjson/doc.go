// Package tjson encodes and decodes Go structs in Thrift's JSON protocol (TJSONProtocol), by
// the plans of package plan. Package thrift is its face. It is for tools and for peers of old, and
// allocates freely; memory is charged to the same budget as in the other protocols.
//
// The text has ids and types where other JSON has names, so that it can be read without an IDL:
//
//	struct      {"1":{"i32":7},"2":{"str":"seven"}}      fields by id, each with its type
//	list, set   ["i32",2,7,8]                            type and number of the elements, then they
//	map         ["str","i32",1,{"seven":7}]              types of keys and values, their number
//	union       {"1":{"i64":7}}                          a struct of which one field counts, the last
//	bool        1, 0                                     as "tf"
//	i8 … i64    7                                        keys and ids stand in quotes
//	double      1.5, "NaN", "Infinity", "-Infinity"      as "dbl"
//	string      "seven"                                  as "str", like binary
//	binary      "c2V2ZW4="                               base64; padding may be missing
//	uuid        "00112233-4455-6677-8899-aabbccddeeff"   as "uid"
//	message     [1,"name",1,7,{…}]                       version, method, kind of message, sequence
//
// What differs from JSON: a key may be a struct or a list, which no JSON parser takes, and strings may
// have bytes that are not UTF-8. Numbers are taken with and without quotes anywhere.
//
// What a field's id or type is not known for is passed over, a field that comes twice has its last value,
// a container of other elements than the struct's is passed over as a whole: as in Binary.
package tjson
