#include "image.h"

namespace kw::recording {
namespace {

class Writer {
 public:
  Writer() : image_(sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr)) {}

  Image made(const ImageParts& parts) {
    add(SHT_NULL, "", {});
    for (const char* name : {".shstrtab", ".strtab"}) add(SHT_STRTAB, name, {});
    Elf64_Shdr& table = add(SHT_SYMTAB, ".symtab", symbols_of(parts));
    table.sh_link = symbol_names;
    table.sh_entsize = sizeof(Elf64_Sym);
    add(SHT_NOBITS, ".nv.global", {}).sh_size = 1 << 20;
    add(SHT_PROGBITS, ".nv.constant3", Image(16));
    for (const std::string& kernel : parts.kernels) add(SHT_PROGBITS, ".text." + kernel, Image(8, 0x90));
    fill(sections_[symbol_names], {strings_.begin(), strings_.end()});
    fill(sections_[section_names], {names_.begin(), names_.end()});
    finish();
    return std::move(image_);
  }

 private:
  static std::uint32_t put(std::string& table, const std::string& text) {
    auto at = static_cast<std::uint32_t>(table.size());
    table += text + '\0';
    return at;
  }

  void fill(Elf64_Shdr& section, const Image& bytes) {
    section.sh_offset = image_.size();
    section.sh_size = bytes.size();
    image_.insert(image_.end(), bytes.begin(), bytes.end());
  }

  Elf64_Shdr& add(std::uint32_t type, const std::string& name, const Image& bytes) {
    Elf64_Shdr& section = sections_.emplace_back();
    section.sh_type = type;
    section.sh_name = put(names_, name);
    if (!bytes.empty()) fill(section, bytes);
    return section;
  }

  Image symbols_of(const ImageParts& parts) {
    put(strings_, "");
    std::vector<Elf64_Sym> list(1);
    for (const auto& [name, bytes] : parts.globals)
      list.push_back({.st_name = put(strings_, name),
                      .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT),
                      .st_other = 0,
                      .st_shndx = globals,
                      .st_value = 0,
                      .st_size = bytes});
    Image bytes(list.size() * sizeof(Elf64_Sym));
    std::memcpy(bytes.data(), list.data(), bytes.size());
    return bytes;
  }

  void finish() {
    Elf64_Ehdr header = {};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_machine = EM_CUDA;
    header.e_phoff = sizeof header;
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_phnum = 1;
    header.e_shoff = image_.size();
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = static_cast<std::uint16_t>(sections_.size());
    header.e_shstrndx = section_names;
    std::memcpy(image_.data(), &header, sizeof header);
    std::size_t bytes = sections_.size() * sizeof(Elf64_Shdr);
    image_.resize(image_.size() + bytes);
    std::memcpy(image_.data() + header.e_shoff, sections_.data(), bytes);
  }

  Image image_;
  std::vector<Elf64_Shdr> sections_;
  std::string names_, strings_;
};

template <typename T>
T read(const Image& image, std::size_t at) {
  T value;
  std::memcpy(&value, image.data() + at, sizeof value);
  return value;
}

}  // namespace

Image image_of(const ImageParts& parts) {
  return Writer().made(parts);
}

std::size_t section_at(const Image& image, std::size_t index) {
  return read<Elf64_Ehdr>(image, 0).e_shoff + index * sizeof(Elf64_Shdr);
}

std::size_t symbol_at(const Image& image, std::size_t index) {
  return read<Elf64_Shdr>(image, section_at(image, symbols)).sh_offset + index * sizeof(Elf64_Sym);
}

std::size_t segment_at(const Image&) {
  return sizeof(Elf64_Ehdr);
}

}  // namespace kw::recording
