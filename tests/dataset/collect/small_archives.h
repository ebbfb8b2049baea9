// Archives made byte by byte, so that they can be invalid.
#pragma once

#include <zlib.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace kw::collect {

struct Member {
  std::string name;
  std::string bytes;
  char type = '0';           // of tar: '0' file, '1' hard link, '2' symbolic link, '3' device, '5' folder
  std::string target = {};   // of a link
  std::uint64_t size = ~0u;  // as the header says; ~0: the bytes' own
};

inline std::string tar_of(const std::vector<Member>& members) {
  std::string tar;
  for (const Member& member : members) {
    std::array<char, 512> header{};
    std::snprintf(header.data(), 100, "%s", member.name.c_str());
    std::snprintf(header.data() + 100, 8, "%07o", 0644);
    std::snprintf(header.data() + 108, 8, "%07o", 0);
    std::snprintf(header.data() + 116, 8, "%07o", 0);
    const std::uint64_t size = member.size == ~0u ? member.bytes.size() : member.size;
    std::snprintf(header.data() + 124, 12, "%011llo", static_cast<unsigned long long>(size));
    std::snprintf(header.data() + 136, 12, "%011o", 0);
    header[156] = member.type;
    std::snprintf(header.data() + 157, 100, "%s", member.target.c_str());
    std::snprintf(header.data() + 257, 6, "ustar");
    header[263] = header[264] = '0';
    unsigned sum = 8 * ' ';
    for (std::size_t i = 0; i < header.size(); ++i)
      if (i < 148 || i >= 156) sum += static_cast<unsigned char>(header[i]);
    std::snprintf(header.data() + 148, 8, "%06o", sum);
    header[155] = ' ';
    tar.append(header.data(), header.size());
    tar += member.bytes;
    tar.resize((tar.size() + 511) / 512 * 512, '\0');
  }
  return tar + std::string(1024, '\0');
}

inline void put_number(std::string& out, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i, value >>= 8) out += static_cast<char>(value & 0xff);
}

// Names in UTF-8, nothing compressed. `flags` are those of every member: 1 marks it as encrypted.
inline std::string zip_of(const std::vector<Member>& members, unsigned flags = 0) {
  std::string zip;
  std::string directory;
  for (const Member& member : members) {
    const auto crc =
        crc32(0, reinterpret_cast<const Bytef*>(member.bytes.data()), static_cast<uInt>(member.bytes.size()));
    std::string common;
    put_number(common, 20, 2);
    put_number(common, 0x800 | flags, 2);
    put_number(common, 0, 2);
    put_number(common, 0x21u << 16, 4);  // a date
    put_number(common, crc, 4);
    put_number(common, member.bytes.size(), 4);
    put_number(common, member.bytes.size(), 4);
    put_number(common, member.name.size(), 2);
    put_number(common, 0, 2);
    directory += "PK\1\2";
    put_number(directory, 20, 2);
    directory += common;
    put_number(directory, 0, 10);
    put_number(directory, zip.size(), 4);
    directory += member.name;
    zip += "PK\3\4" + common + member.name + member.bytes;
  }
  const std::size_t at = zip.size();
  zip += directory + "PK\5\6";
  put_number(zip, 0, 4);
  put_number(zip, members.size(), 2);
  put_number(zip, members.size(), 2);
  put_number(zip, directory.size(), 4);
  put_number(zip, at, 4);
  put_number(zip, 0, 2);
  return zip;
}

}  // namespace kw::collect
