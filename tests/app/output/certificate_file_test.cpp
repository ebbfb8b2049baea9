// The file of certificates: continued, repaired after a kill, and never another program's.
#include "output/certificate_file.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/core/files.h"
#include "support/world.h"

namespace kw {
namespace {

TaskCertificate certificate(const std::string& work) {
  return {.id = "task " + work, .task_id = "t", .work = work};
}

class CertificateFiles : public testing::Test {
 protected:
  std::string text() const { return read_text_file(name()).value_or(""); }
  std::string name() const { return folder_.path("certificates.jsonl"); }
  void write(const std::string& bytes) const { folder_.write("certificates.jsonl", bytes); }
  void add(const std::string& work) const {
    auto file = CertificateFile::open(name(), false);
    ASSERT_TRUE(file) << file.error().what;
    ASSERT_TRUE(file->add(certificate(work)));
  }

  Folder folder_;
};

TEST_F(CertificateFiles, ASecondCallKnowsTheFirst) {
  add("a");
  auto file = CertificateFile::open(name(), false);
  ASSERT_TRUE(file) << file.error().what;
  ASSERT_NE(file->done("a"), nullptr);
  EXPECT_EQ(file->done("a")->id, "task a");
  EXPECT_EQ(file->done("b"), nullptr);
}

TEST_F(CertificateFiles, AnIncompleteLastLineIsRemoved) {
  add("a");
  const std::string whole = text();
  write(whole + whole.substr(0, 40));
  add("b");
  EXPECT_EQ(text().substr(0, whole.size()), whole);
  auto file = CertificateFile::open(name(), false);
  ASSERT_TRUE(file) << file.error().what;
  EXPECT_NE(file->done("b"), nullptr);
}

TEST_F(CertificateFiles, ALastLineWithoutItsNewlineIsWhole) {
  add("a");
  std::string whole = text();
  write(whole.substr(0, whole.size() - 1));
  add("b");
  EXPECT_TRUE(text().starts_with(whole));
}

TEST_F(CertificateFiles, FreshLeavesAFileOfAnotherProgram) {
  write("my notes\n");
  EXPECT_FALSE(CertificateFile::open(name(), true));
  EXPECT_EQ(text(), "my notes\n");
}

TEST_F(CertificateFiles, AFileOfAnotherProgramStays) {
  for (const char* notes : {"my notes\n", "my notes", "{\"a\": 1}\n", "{"}) {
    write(notes);
    EXPECT_FALSE(CertificateFile::open(name(), false)) << notes;
    EXPECT_EQ(text(), notes);
  }
}

TEST_F(CertificateFiles, AFaultOfTheInfrastructureIsTriedAgain) {
  TaskCertificate none = certificate("a");
  none.fault = Fault::infrastructure;
  {
    auto file = CertificateFile::open(name(), false);
    ASSERT_TRUE(file && file->add(none));
  }
  auto file = CertificateFile::open(name(), false);
  ASSERT_TRUE(file) << file.error().what;
  EXPECT_EQ(file->done("a"), nullptr);
}

TEST_F(CertificateFiles, FreshRenamesTheEarlierOne) {
  add("a");
  auto file = CertificateFile::open(name(), true);
  ASSERT_TRUE(file) << file.error().what;
  EXPECT_EQ(file->done("a"), nullptr);
  EXPECT_TRUE(std::filesystem::exists(name() + ".1"));
}

TEST_F(CertificateFiles, OneCallAtATimeWrites) {
  auto first = CertificateFile::open(name(), false);
  ASSERT_TRUE(first);
  EXPECT_FALSE(CertificateFile::open(name(), false));
}

}  // namespace
}  // namespace kw
