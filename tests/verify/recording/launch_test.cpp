#include <gtest/gtest.h>

#include "world.h"

namespace kw::recording {
namespace {

using testing::HasSubstr;

void add_attribute(LaunchT& launch, std::uint32_t id, std::vector<std::uint8_t> value) {
  auto attribute = std::make_unique<AttributeT>();
  attribute->id = id;
  attribute->value = std::move(value);
  launch.attributes.push_back(std::move(attribute));
}

TEST(Launch, NamesACubinThatExists) {
  World world;
  world.launch().cubin = 1;
  EXPECT_EQ(world.refusal(), "operation 0: there is no cubin 1");
}

TEST(Launch, NamesAKernelOfItsCubin) {
  World world;
  world.launch().name = "sub";
  EXPECT_EQ(world.refusal(), "operation 0: cubin 0 has no kernel of that name");
}

TEST(Launch, NamesItsKernel) {
  World world;
  world.launch().name = "";
  EXPECT_EQ(world.refusal(), "operation 0: its kernel has no name");
}

TEST(Launch, OfANameWithControlCharactersIsRefused) {
  World world;
  world.launch().name = "add\x1b[2J";
  EXPECT_THAT(world.refusal(), HasSubstr("characters that no symbol has"));
}

TEST(Launch, OfANameWithAZeroIsRefused) {
  World world;
  world.launch().name = std::string("add\0x", 5);
  EXPECT_THAT(world.refusal(), HasSubstr("characters that no symbol has"));
}

TEST(Launch, OfAVeryLongNameIsRefused) {
  World world;
  world.launch().name.assign(100'000, 'x');
  EXPECT_THAT(world.refusal(), HasSubstr("too long"));
}

TEST(Launch, HasAGrid) {
  World world;
  world.launch().grid.reset();
  EXPECT_THAT(world.refusal(), HasSubstr("no grid"));
}

TEST(Launch, OfAnEmptyGridIsRefused) {
  World world;
  *world.launch().grid = Dim(1, 0, 1);
  EXPECT_THAT(world.refusal(), HasSubstr("grid of 1 x 0 x 1"));
}

TEST(Launch, OfATooHighGridIsRefused) {
  World world;
  *world.launch().grid = Dim(1, 65536, 1);
  EXPECT_THAT(world.refusal(), HasSubstr("grid of 1 x 65536 x 1"));
}

TEST(Launch, OfTheWidestGridIsRight) {
  World world;
  *world.launch().grid = Dim(0x7FFFFFFF, 65535, 65535);
  EXPECT_EQ(world.refusal(), "");
}

TEST(Launch, OfTooLargeABlockIsRefused) {
  World world;
  *world.launch().block = Dim(1024, 2, 1);
  EXPECT_THAT(world.refusal(), HasSubstr("block of 1024 x 2 x 1"));
}

TEST(Launch, WhoseBlockOverflowsIsRefused) {
  World world;
  *world.launch().block = Dim(1U << 31, 2, 1);
  EXPECT_THAT(world.refusal(), HasSubstr("none that CUDA allows"));
}

TEST(Launch, HasParametersWithinTheirBuffer) {
  World world;
  world.launch().layout[1] = Parameter(8, 5);
  EXPECT_EQ(world.refusal(), "operation 0: parameter 1 lies beyond its buffer");
}

TEST(Launch, WhoseParameterOverflowsIsRefused) {
  World world;
  world.launch().layout[0] = Parameter(0xFFFFFFFF, 8);
  EXPECT_THAT(world.refusal(), HasSubstr("parameter 0 lies beyond"));
}

TEST(Launch, OfTooManyParametersIsRefused) {
  World world;
  world.launch().parameters.resize(32769);
  EXPECT_THAT(world.refusal(), HasSubstr("parameters are too large"));
}

TEST(Launch, HasAttributesOfLimitedSize) {
  World world;
  add_attribute(world.launch(), 4, std::vector<std::uint8_t>(65));
  EXPECT_THAT(world.refusal(), HasSubstr("the value of attribute 4"));
}

TEST(Launch, HasFewAttributes) {
  World world;
  LaunchT& launch = world.launch();
  for (int i = 0; i < 33; ++i) add_attribute(launch, 8, {1});
  EXPECT_THAT(world.refusal(), HasSubstr("more than 32 attributes"));
}

TEST(Launch, WithAHandleOfAnotherProcessIsRefused) {
  World world;
  add_attribute(world.launch(), 7, std::vector<std::uint8_t>(16));  // an event
  EXPECT_THAT(world.refusal(), HasSubstr("attribute 7 cannot be replayed"));
}

TEST(Launch, WithAWindowOnOtherMemoryIsRefused) {
  World world;
  std::vector<std::uint8_t> value(32);
  value[8] = 1;  // a byte at address 0
  add_attribute(world.launch(), 1, value);
  EXPECT_THAT(world.refusal(), HasSubstr("window reaches beyond"));
}

}  // namespace
}  // namespace kw::recording
