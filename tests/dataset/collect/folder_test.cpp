#include <gmock/gmock.h>
#include <sys/stat.h>

#include "world.h"

namespace kw::collect {
namespace {

using testing::ElementsAre;
const std::string commit(40, 'a');

TEST(FolderSource, FilesComeSorted) {
  const Folder folder;
  for (const char* name : {"b.py", "a/z.py", "a/b.py", "c.txt"}) folder.put(name, "x");
  const auto got = collected(folder.path());
  EXPECT_THAT(got.paths(), ElementsAre("a/b.py", "a/z.py", "b.py"));
  EXPECT_EQ(got.files[0].origin.kind, corpus::OriginKind::folder);
  EXPECT_EQ(got.tally.files_seen, 4u);
}

TEST(FolderSource, LinksAreNotFollowed) {
  const Folder folder;
  const Folder outside;
  outside.put("secret.py", "x");
  folder.put("a.py", "x");
  std::filesystem::create_symlink(outside / "secret.py", folder / "link.py");
  std::filesystem::create_directory_symlink(folder.path(), folder / "loop");
  const auto got = collected(folder.path());
  EXPECT_THAT(got.paths(), ElementsAre("a.py"));
  EXPECT_EQ(got.tally.skipped.at("link"), 2u);
}

TEST(FolderSource, APipeDoesNotHoldItUp) {
  const Folder folder;
  ASSERT_EQ(mkfifo((folder / "pipe.py").c_str(), 0600), 0);
  EXPECT_EQ(collected(folder.path()).reasons()["pipe.py"], "device");
}

TEST(FolderSource, ALicenceOfTheTree) {
  const Folder folder;
  folder.put("LICENSE", "Licensed under the Apache License, Version 2.0.");
  folder.put("a/b.py", "x");
  EXPECT_EQ(collected(folder.path()).files[0].licence.spdx, "Apache-2.0");
}

TEST(Checkout, ItsCommitFromAReference) {
  const Folder folder;
  folder.put("k/.git/HEAD", "ref: refs/heads/main\n");
  folder.put("k/.git/refs/heads/main", commit + "\n");
  folder.put("k/.git/hook.py", "x");
  folder.put("k/a.py", "x");
  const auto got = collected(folder / "k");
  EXPECT_THAT(got.paths(), ElementsAre("a.py"));
  EXPECT_EQ(got.files[0].origin.kind, corpus::OriginKind::git);
  EXPECT_EQ(got.files[0].origin.commit, commit);
  EXPECT_EQ(got.files[0].origin.name, "k");
}

TEST(Checkout, ItsCommitFromPackedReferences) {
  const Folder folder;
  folder.put(".git/HEAD", "ref: refs/heads/main\n");
  folder.put(".git/packed-refs", "# pack-refs with: peeled\n" + commit + " refs/heads/main\n");
  EXPECT_EQ(identify(folder.path())->commit, commit);
}

TEST(Checkout, AReferenceCannotLeadOutside) {
  const Folder folder;
  folder.put("x", commit);
  folder.put(".git/HEAD", "ref: refs/../../x\n");
  EXPECT_EQ(identify(folder.path())->commit, "");
}

TEST(Checkout, ItsAddressWithoutCredentials) {
  const Folder folder;
  folder.put(".git/HEAD", commit + "\n");
  folder.put(".git/config", "[remote \"origin\"]\n\turl = https://me:token@example.org/o/kernels.git\n");
  const auto origin = identify(folder.path());
  EXPECT_EQ(origin->url, "https://example.org/o/kernels.git");
  EXPECT_EQ(origin->name, "kernels");
}

}  // namespace
}  // namespace kw::collect
