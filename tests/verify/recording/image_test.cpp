#include <gtest/gtest.h>

#include "verify/recording/elf.h"
#include "world.h"

namespace kw::recording {
namespace {

using testing::HasSubstr;

// The error of a recording with this cubin.
std::string refusal_of(const Image& image) {
  World world;
  world.set_image(image);
  return world.refusal();
}

// The error of the usual image with one structure changed.
template <typename T, typename Change>
std::string refusal_with(std::size_t at, Change change) {
  Image image = image_of({});
  edit<T>(image, at, change);
  return refusal_of(image);
}

template <typename Change>
std::string refusal_with_header(Change change) {
  return refusal_with<Elf64_Ehdr>(0, change);
}

template <typename Change>
std::string refusal_with_section(std::size_t index, Change change) {
  return refusal_with<Elf64_Shdr>(section_at(image_of({}), index), change);
}

TEST(Cubin, IsWhatItsHashSays) {
  World world;
  world.recording.cubins[0]->image.push_back(0);
  EXPECT_EQ(world.refusal(), "cubin 0: the image is not what its hash says");
}

TEST(Cubin, MayBeReadWithoutItsHash) {
  World world;
  world.recording.cubins[0]->sha256 = "";
  std::string bytes = world.bytes();
  EXPECT_FALSE(View::of(bytes));
  EXPECT_TRUE(View::of(bytes, {.hashes = false}));
}

TEST(Cubin, HasAnImage) {
  EXPECT_EQ(refusal_of({}), "cubin 0: the image is too short for an ELF file");
}

TEST(Cubin, IsAnElfFile) {
  EXPECT_THAT(refusal_with_header([](auto& header) { header.e_ident[1] = 'F'; }),
              HasSubstr("not an ELF file"));
}

TEST(Cubin, Has64Bits) {
  EXPECT_THAT(refusal_with_header([](auto& header) { header.e_ident[EI_CLASS] = ELFCLASS32; }),
              HasSubstr("not a 64-bit"));
}

TEST(Cubin, IsForADevice) {
  EXPECT_THAT(refusal_with_header([](auto& header) { header.e_machine = EM_X86_64; }),
              HasSubstr("another machine"));
}

TEST(Cubin, HasSectionHeadersOfTheUsualSize) {
  EXPECT_THAT(refusal_with_header([](auto& header) { header.e_shentsize = 32; }), HasSubstr("another size"));
}

TEST(Cubin, HasItsSectionHeadersWithin) {
  EXPECT_THAT(refusal_with_header([](auto& header) { header.e_shoff += 1; }),
              HasSubstr("section headers lie beyond"));
  EXPECT_THAT(refusal_with_header([](auto& header) { header.e_shoff = ~std::uint64_t{0} - 8; }),
              HasSubstr("section headers lie beyond"));
}

TEST(Cubin, MayHaveItsCountOfSectionsInTheFirst) {
  Image image = image_of({});
  edit<Elf64_Shdr>(image, section_at(image, 0), [](auto& first) { first.sh_size = first_kernel + 1; });
  edit<Elf64_Ehdr>(image, 0, [](auto& header) { header.e_shnum = 0; });
  EXPECT_EQ(refusal_of(image), "");
}

TEST(Cubin, HasAsManySectionsAsItSays) {
  Image image = image_of({});
  edit<Elf64_Shdr>(image, section_at(image, 0), [](auto& first) { first.sh_size = std::uint64_t{1} << 60; });
  edit<Elf64_Ehdr>(image, 0, [](auto& header) { header.e_shnum = 0; });
  EXPECT_THAT(refusal_of(image), HasSubstr("section headers lie beyond"));
}

TEST(Cubin, HasItsSectionsWithin) {
  EXPECT_THAT(refusal_with_section(first_kernel, [](auto& section) { section.sh_size = 1 << 20; }),
              HasSubstr("section 6 lies beyond"));
  EXPECT_THAT(
      refusal_with_section(first_kernel, [](auto& section) { section.sh_offset = ~std::uint64_t{3}; }),
      HasSubstr("section 6 lies beyond"));
}

TEST(Cubin, MayHaveLargeSectionsWithoutBytes) {
  auto grow = [](auto& section) { section.sh_size = std::uint64_t{1} << 40; };
  EXPECT_EQ(refusal_with_section(globals, grow), "");
}

TEST(Cubin, HasItsSegmentsWithin) {
  auto grow = [](auto& segment) { segment.p_filesz = 1 << 20; };
  EXPECT_THAT(refusal_with<Elf64_Phdr>(segment_at({}), grow), HasSubstr("segment of it lies beyond"));
}

TEST(Cubin, HasItsProgramHeadersWithin) {
  EXPECT_THAT(refusal_with_header([](auto& header) { header.e_phoff = 1 << 20; }),
              HasSubstr("program headers lie beyond"));
}

TEST(Cubin, HasNamesForItsSections) {
  EXPECT_THAT(refusal_with_header([](auto& header) { header.e_shstrndx = 99; }),
              HasSubstr("lacks a table of strings"));
  EXPECT_THAT(refusal_with_header([](auto& header) { header.e_shstrndx = first_kernel; }),
              HasSubstr("lacks a table of strings"));
}

TEST(Cubin, HasNamesThatEnd) {
  EXPECT_THAT(refusal_with_section(first_kernel, [](auto& section) { section.sh_name = 1 << 30; }),
              HasSubstr("name of its section 6 has no end"));
  EXPECT_THAT(refusal_with_section(section_names, [](auto& section) { section.sh_size -= 1; }),
              HasSubstr("name of its section 6 has no end"));
}

TEST(Cubin, HasSymbolsOfTheUsualSize) {
  EXPECT_THAT(refusal_with_section(symbols, [](auto& section) { section.sh_entsize = 8; }),
              HasSubstr("symbols have another size"));
}

TEST(Cubin, HasNamesForItsSymbols) {
  EXPECT_THAT(refusal_with_section(symbols, [](auto& section) { section.sh_link = 77; }),
              HasSubstr("lacks a table of strings"));
}

TEST(Cubin, HasSymbolsWhoseNamesEnd) {
  Image image = image_of({.globals = {{"counter", 4}}});
  edit<Elf64_Sym>(image, symbol_at(image, 1), [](auto& symbol) { symbol.st_name = 4000; });
  EXPECT_THAT(refusal_of(image), HasSubstr("name of a symbol has no end"));
}

TEST(Cubin, HasOneTableOfSymbols) {
  EXPECT_THAT(refusal_with_section(constants, [](auto& section) { section.sh_type = SHT_SYMTAB; }),
              HasSubstr("more than one table of symbols"));
}

TEST(Cubin, HasNoMoreNamesThanBytes) {
  ImageParts parts;
  parts.kernels = {std::string(5000, 'k')};
  for (int i = 0; i < 100; ++i) parts.kernels.push_back("a");
  Image image = image_of(parts);
  std::uint32_t long_one = 0;
  edit<Elf64_Shdr>(image, section_at(image, first_kernel),
                   [&](auto& section) { long_one = section.sh_name; });
  for (std::size_t i = 1; i <= 100; ++i)
    edit<Elf64_Shdr>(image, section_at(image, first_kernel + i),
                     [&](auto& section) { section.sh_name = long_one; });
  EXPECT_THAT(refusal_of(image), HasSubstr("names are longer together"));
}

TEST(Cubin, HasTheGlobalsThatWereRecorded) {
  World world = full_world();
  EXPECT_EQ(world.refusal(), "");
  world.recording.cubins[0]->globals[0]->name = "counted";
  EXPECT_THAT(world.refusal(), HasSubstr("cubin 0: global 0"));
}

TEST(Cubin, HasGlobalsOfTheSizeThatWasRecorded) {
  World world = full_world();
  world.recording.cubins[0]->globals[0]->bytes.push_back(0);
  EXPECT_THAT(world.refusal(), HasSubstr("cubin 0: global 0"));
}

// An image with a symbol of the kernel's name, which is a function in this section.
Image with_function_in(std::size_t section, std::uint64_t value = 0) {
  Image image = image_of({.kernels = {"add", "other"}, .globals = {{"add", 8}}});
  edit<Elf64_Sym>(image, symbol_at(image, 1), [=](auto& symbol) {
    symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
    symbol.st_shndx = static_cast<Elf64_Half>(section);
    symbol.st_value = value;
  });
  return image;
}

TEST(Code, IsOfTheSectionThatTheKernelsSymbolIsIn) {
  const Image own = with_function_in(first_kernel);
  EXPECT_FALSE(Elf::of(own)->code_of("add").empty());
  const Image elsewhere = with_function_in(first_kernel + 1);
  EXPECT_TRUE(Elf::of(elsewhere)->code_of("add").empty());
  const Image within = with_function_in(first_kernel, 16);
  EXPECT_TRUE(Elf::of(within)->code_of("add").empty());
}

TEST(Code, OfAKernelWithTwoSectionsIsNotKnown) {
  const Image image = image_of({.kernels = {"add", "add"}});
  EXPECT_TRUE(Elf::of(image)->code_of("add").empty());
  EXPECT_TRUE(Elf::of(image)->has_kernel("add"));
}

TEST(Variables, AreThoseInGlobalAndConstantMemory) {
  Image image = image_of({.globals = {{"counter", 4}, {"table", 1024}, {"of_the_code", 8}}});
  edit<Elf64_Sym>(image, symbol_at(image, 2), [](auto& symbol) { symbol.st_shndx = constants; });
  edit<Elf64_Sym>(image, symbol_at(image, 3), [](auto& symbol) { symbol.st_shndx = first_kernel; });
  auto found = variables(image);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].name, "counter");
  EXPECT_EQ(found[1].bytes, 1024U);
}

TEST(Variables, OfAnythingElseAreNone) {
  EXPECT_TRUE(variables({}).empty());
}

// One byte of the image set to any value, anywhere: the reader may refuse it and must not break.
TEST(Cubin, MayHaveAnyByteChanged) {
  Image image = image_of({.globals = {{"counter", 4}}});
  int refused = 0;
  for (std::size_t at = 0; at < image.size(); ++at)
    for (std::uint8_t value : Image{0x00, 0x7F, 0xFF}) {
      Image changed = image;
      changed[at] = value;
      refused += refusal_of(changed).empty() ? 0 : 1;
      variables(changed);
    }
  EXPECT_GT(refused, 100);
}

}  // namespace
}  // namespace kw::recording
