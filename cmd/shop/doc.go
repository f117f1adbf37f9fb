// Package shop is made from shop.thrift: the services of limosa demo.
package shop

//go:generate go run github.com/limosa-rpc/limosa/gen/limosa-gen -out .. shop.thrift
