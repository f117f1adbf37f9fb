// Package protobuf is the codec for Protobuf messages that are plain Go structs.
//
//	type Order struct {
//		ID    int64             `proto:"1,int64"`
//		Note  *string           `proto:"2,string,explicit"`
//		Items []*Item           `proto:"3,message"`
//		Tags  map[string]string `proto:"4,map(string,string)"`
//		Paid  Payment           `proto:"oneof"`
//
//		unknown []byte `proto:"unknown"`
//	}
//
// [Codec] says what tags there are, and which Go types go with them.
//
// # Use
//
// [Codec] is an rpc.Codec; [Marshal], [Append] and [Unmarshal] are for who stores messages. [Equal], [Clone], [String], [Keep] and [Drop]
// work on any message. All of them are safe for concurrent use; what is to be known about a type is found out at its first use.
package protobuf
