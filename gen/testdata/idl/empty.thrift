namespace go empty
service Empty {}
