// The shop of limosa demo: a storefront that asks a catalog and an inventory
// for everything it shows and sells.

namespace go shop

/** An amount in the smallest unit of its currency. */
struct Money {
  1: required string currency // ISO 4217
  2: required i64 minor
}

enum Category {
  BOOKS = 1
  GARDEN = 2
  KITCHEN = 3
  MUSIC = 4
}

/** What the catalog knows of a thing for sale; it does not change. */
struct Product {
  1: required i64 id
  2: string sku
  3: string name
  4: Category category
  5: list<string> tags
  6: map<string, string> attributes
  7: optional double weight_kg
  8: optional string subtitle
}

/** What the inventory knows of it; it changes by the minute. */
struct Offer {
  1: required i64 product_id
  2: Money price
  3: i32 in_stock
  4: optional i32 days_to_ship // unset when there is none to ship
}

/** A line in a list of products. */
struct Listing {
  1: required i64 product_id
  2: string name
  3: Category category
  4: Money price
  5: bool available
}

/** All that a product's page shows. */
struct Page {
  1: Product product
  2: Offer offer
  3: list<Listing> related
}

struct Query {
  1: required Category category
  2: i32 offset = 0
  3: i32 limit = 50
  4: optional set<string> tags
}

struct CartLine {
  1: required i64 product_id
  2: i32 quantity = 1
}

struct Cart {
  1: required string customer
  2: list<CartLine> lines
}

struct OrderLine {
  1: required i64 product_id
  2: i32 quantity
  3: Money price
}

struct Order {
  1: required string number
  2: string customer
  3: list<OrderLine> lines
  4: Money total
}

exception NotFound {
  1: string what
  2: i64 id
}

exception SoldOut {
  1: i64 product_id
  2: i32 wanted
  3: i32 in_stock
}

service Catalog {
  /** One product. */
  Product product(1: i64 id) throws (1: NotFound missing)
  /** Products of a category, in the order of their ids. */
  list<Product> search(1: Query query)
  /** Ids of products that go with one. */
  list<i64> related(1: i64 id, 2: i32 limit)
}

service Inventory {
  /** The offers for some products; unknown ids are left out. */
  map<i64, Offer> offers(1: list<i64> ids)
  /** Sets stock aside and tells the price of one piece. */
  Money reserve(1: i64 id, 2: i32 quantity) throws (1: NotFound missing, 2: SoldOut none)
}

service Storefront {
  /** Asks the catalog and the inventory at the same time. */
  Page page(1: i64 id) throws (1: NotFound missing)
  /** Lists what a category has, with prices. */
  list<Listing> browse(1: Query query)
  /** Reserves every line at the same time and adds the prices up. */
  Order checkout(1: Cart cart) throws (1: NotFound missing, 2: SoldOut none)
}
