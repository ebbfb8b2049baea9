// Paths of a client that try to leave the folder.
#include "mcp/root_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "support/world.h"

namespace kw::mcp {
namespace {

using testing::HasSubstr;

struct Place {
  Place() {
    folder.write("root/kernel.py", "x = 1\n");
    folder.write("root/deep/kernel.py", "y = 1\n");
    folder.write("secret.py", "secret");
    opened.emplace(*RootFolder::open(folder.path("root")));
  }
  std::string text(const std::string& path, std::size_t most = 1'000) {
    auto read = opened->read(path, most);
    return read ? *read : "refused: " + read.error().what;
  }
  std::string at(const std::string& name) { return folder.path("root/" + name); }

  Folder folder;
  std::optional<RootFolder> opened;
};

TEST(Root, HasFilesByRelativeAndAbsolutePaths) {
  Place place;
  EXPECT_EQ(place.text("kernel.py"), "x = 1\n");
  EXPECT_EQ(place.text("./deep//kernel.py"), "y = 1\n");
  EXPECT_EQ(place.text(place.opened->path().string() + "/kernel.py"), "x = 1\n");
}

TEST(Root, IsNotLeftByDots) {
  Place place;
  for (const std::string& path :
       {std::string("../secret.py"), std::string("deep/../../secret.py"), std::string(".."),
        place.at("../secret.py"), std::string("deep/../kernel.py")})
    EXPECT_THAT(place.text(path), HasSubstr("refused")) << path;
}

TEST(Root, IsNotLeftByOtherRoots) {
  Place place;
  for (const std::string& path :
       {std::string("/etc/passwd"), place.folder.path("secret.py"), place.opened->path().string() + "x",
        std::string("/"), std::string(""), std::string("."), std::string("a\0b", 3), std::string(5'000, 'a')})
    EXPECT_THAT(place.text(path), HasSubstr("refused")) << path;
}

TEST(Root, HasNoSymbolicLinks) {
  Place place;
  std::filesystem::create_symlink(place.folder.path("secret.py"), place.at("link.py"));
  std::filesystem::create_symlink(place.folder.path(), place.at("up"));
  std::filesystem::create_symlink("kernel.py", place.at("inside.py"));
  for (const char* path : {"link.py", "up/secret.py", "inside.py"})
    EXPECT_THAT(place.text(path), HasSubstr("symbolic link")) << path;
}

TEST(Root, HasNoSpecialFiles) {
  Place place;
  ASSERT_EQ(::mkfifo(place.at("pipe").c_str(), 0600), 0);
  int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  // The folder's path may be longer than an address.
  int folder = ::open(place.at("").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  fmt::format("/proc/self/fd/{}/socket", folder).copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  for (const char* path : {"pipe", "socket", "deep"})
    EXPECT_THAT(place.text(path), HasSubstr("no regular file")) << path;
  ::close(socket);
  ::close(folder);
}

TEST(Root, HasFilesOfALimitedSizeAndText) {
  Place place;
  place.folder.write("root/large.py", std::string(1'001, ' '));
  place.folder.write("root/bytes.py", "\xff\xfe");
  EXPECT_THAT(place.text("large.py"), HasSubstr("larger than 1000 bytes"));
  EXPECT_EQ(place.text("large.py", 1'001).size(), 1'001U);
  EXPECT_THAT(place.text("bytes.py"), HasSubstr("not UTF-8"));
}

TEST(Root, NamesAMissingFile) {
  Place place;
  EXPECT_THAT(place.text("kernal.py"), HasSubstr("no such file"));
  EXPECT_THAT(place.text("kernel.py/x"), HasSubstr("refused"));
  EXPECT_FALSE(RootFolder::open(place.folder.path("none")));
  EXPECT_FALSE(RootFolder::open(place.folder.path("secret.py")));
}

}  // namespace
}  // namespace kw::mcp
