// Messages that are large enough to be looked at where their bytes lie.
//guide:begin archive
namespace go archive

struct Page {
  1: i32 number
  2: string text
} (lazy)

struct Volume {
  1: string title
  2: i32 copies
  3: list<Page> pages
} (lazy)

service Archive {
  Volume restore(1: Volume volume) (lazy)
}
//guide:end
