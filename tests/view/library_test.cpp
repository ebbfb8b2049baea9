// The inputs of the command line, and paths that a request may name.
#include "view/library.h"

#include <gmock/gmock.h>

#include "view_world.h"

namespace kw::view::test {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct FolderWorld : World {
  FolderWorld() {
    folder.write("runs/a.json", "[]");
    folder.write("runs/below/b.json", "[]");
    folder.write("runs/notes.txt", "");
    folder.write("secret.json", "[]");
    path = folder.path("runs");
  }
  std::vector<std::string> listed() {
    std::vector<std::string> paths;
    for (const json::value& run : json::parse(get("/api/runs").body).as_array())
      paths.emplace_back(run.at("path").as_string());
    return paths;
  }
};

TEST(FolderOfRuns, IsListed) {
  FolderWorld world;
  world.open();
  EXPECT_THAT(world.listed(), ElementsAre("a.json", "below/b.json"));
  EXPECT_EQ(world.get("/api/index?run=below%2Fb.json").status, 200);
  EXPECT_EQ(world.get("/api/index").status, 400);
}

TEST(FolderOfRuns, ShowsANewRun) {
  FolderWorld world;
  world.open();
  EXPECT_EQ(world.get("/api/index?run=c.json").status, 404);
  world.folder.write("runs/c.json", "[]");
  EXPECT_EQ(world.get("/api/index?run=c.json").status, 200);
}

TEST(FolderOfRuns, GivesNothingOutsideOfIt) {
  FolderWorld world;
  fs::create_symlink(world.folder.path("secret.json"), world.folder.path("runs/link.json"));
  fs::create_directory_symlink(world.folder.path(), world.folder.path("runs/up"));
  world.open();
  EXPECT_THAT(world.listed(), ElementsAre("a.json", "below/b.json"));
  for (const char* trick :
       {"../secret.json", "..%2Fsecret.json", "%2e%2e/secret.json", "below/../../secret.json", "link.json",
        "up/secret.json", "/etc/passwd", "%2Fetc%2Fpasswd", "a.json%00", ".", "./a.json", "below//b.json",
        "notes.txt", "%252e%252e/secret.json"})
    EXPECT_EQ(world.get(std::string("/api/index?run=") + trick).status, 404) << trick;
}

TEST(Library, NamesAPathThatDoesNotExist) {
  World world;
  auto opened = Library::open(world.loop, world.reader(), {world.folder.path("missing")});
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().what, HasSubstr("missing"));
}

TEST(Library, OfOneInputHasNoRuns) {
  World world;
  world.open();
  EXPECT_EQ(world.get("/api/runs").body, "null");
  EXPECT_EQ(world.get("/api/index").status, 200);
  EXPECT_EQ(world.get("/api/index?run=traces.json").status, 404);
}

TEST(FolderOfRuns, OpensMoreRunsThanItKeeps) {
  FolderWorld world;
  for (int i = 0; i < 20; ++i) world.folder.write("runs/" + std::to_string(i) + ".json", "[]");
  world.open();
  for (int round = 0; round < 2; ++round)
    for (int i = 0; i < 20; ++i)
      EXPECT_EQ(world.get("/api/index?run=" + std::to_string(i) + ".json").status, 200);
}

}  // namespace
}  // namespace kw::view::test
