namespace go describe

/** What one server serves. */
struct Description {
  1: list<ServiceName> services
  /** Packed IDL; each text stands once, however many services it describes. */
  2: list<string> texts
}

struct ServiceName {
  /** The name under which the service is registered. */
  1: string name
  /** Where its IDL lies in texts, from 0; below zero: it has none. */
  2: i32 text = -1
}

/** The name of the method is one that no service of a user has, for forms of
    Thrift whose messages carry the method's name alone. */
service LimosaReflection {
  Description limosaDescribe()
}
