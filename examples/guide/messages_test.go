package guide_test

import (
	"encoding/json"
	"fmt"

	"github.com/limosa-rpc/limosa/examples/guide/gen/parcels"
	"github.com/limosa-rpc/limosa/thrift"
)

//guide:begin messages-union
func pay(p parcels.Payment) string {
	switch p := p.(type) {
	case *parcels.PaymentCash:
		return fmt.Sprintf("%d in cash", p.Cash)
	case *parcels.PaymentCard:
		return "card " + p.Card
	default: // nil: none was set, or one that this program does not know
		return "not paid"
	}
}

//guide:end

func Example_getters() {
	p := &parcels.Parcel{Inner: &parcels.Parcel{Note: new("fragile")}}
	//guide:begin messages-getters
	note := p.GetInner().GetNote()              // of a field that is there
	none := p.GetInner().GetInner().GetNote()   // of one that is not: its default, or ""
	empty := (*parcels.Parcel)(nil).GetInner()  // of nil, too
	fmt.Printf("%q %q %v\n", note, none, empty) // "fragile" "" nil
	//guide:end
	// Output: "fragile" "" nil
}

func Example_json() {
	p := &parcels.Parcel{ID: 7, Size: parcels.SizeLARGE, Labels: []string{"air"}, Payment: &parcels.PaymentCard{Card: "4111"}}
	//guide:begin messages-json
	b, err := json.Marshal(p)
	//guide:end
	fmt.Println(string(b), err)
	// Output: {"id":7,"grams":0,"labels":["air"],"zones":null,"tags":null,"size":"LARGE","payment":{"card":"4111"},"inner":null} <nil>
}

func Example_messages() {
	//guide:begin messages
	p := parcels.NewParcel() // with the IDL's default: 500 grams
	p.ID = 7
	p.Note = new("fragile") // optional: a pointer
	p.Labels = []string{"air"}
	p.Zones = thrift.Set[int32]{1, 4}
	p.Size = parcels.SizeLARGE
	p.Payment = &parcels.PaymentCard{Card: "4111"}
	//guide:end
	fmt.Println(p)
	fmt.Println(p.Size, pay(p.Payment), pay(nil))
	q := thrift.Clone(p)
	fmt.Println(thrift.Equal(p, q), (&parcels.Parcel{}).Grams)
	// Output:
	// Parcel{id:7 note:"fragile" grams:500 labels:["air"] zones:[1 4] tags:{} size:LARGE payment:{card:"4111"}}
	// LARGE card 4111 not paid
	// true 0
}
