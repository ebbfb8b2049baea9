// Walks over a tree, and the list of its nodes that many passes share.
#include "code/syntax/tree.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace kw::syntax {
namespace {

constexpr std::string_view source = R"(import triton as t

@t.jit
def kernel(x, BLOCK: t.constexpr):  # a comment
    for i in range(3):
        y = f(x[i], key=(1, 2)) + f"{x!r:>{i}}"


class ModelNew:
    def forward(self, x): return kernel[(1,)](x)

broken = (
)";

using Places = std::vector<std::pair<std::string, std::size_t>>;

// The nodes that a walk enters if it skips what is below nodes of a type.
template <typename Walk>
Places entered(Walk&& walk, std::string_view skipped) {
  Places places;
  walk([&](const Node& node) {
    places.emplace_back(node.type(), node.begin());
    return !node.is(skipped);
  });
  return places;
}

Places by_walk(const Node& from, std::string_view skipped) {
  return entered([&](auto enter) { walk(from, enter); }, skipped);
}

Places by_nodes(const Node& from, std::string_view skipped) {
  return entered([&](auto enter) { Nodes(from).walk(enter); }, skipped);
}

// The definition of both: named children in order, depth first.
void by_children(const Node& node, std::string_view skipped, Places& places) {
  places.emplace_back(node.type(), node.begin());
  if (node.is(skipped)) return;
  for (const Node& child : node.named_children()) by_children(child, skipped, places);
}

TEST(Walk, EntersNamedNodesInTheOrderOfTheSource) {
  const Tree tree(source);
  for (const char* skipped : {"", "module", "function_definition", "call", "identifier", "block", "ERROR"}) {
    Places expected;
    by_children(tree.root(), skipped, expected);
    EXPECT_EQ(by_walk(tree.root(), skipped), expected) << skipped;
    EXPECT_EQ(by_nodes(tree.root(), skipped), expected) << skipped;
  }
}

TEST(Walk, OfAPartEndsWithIt) {
  const Tree tree(source);
  const Node part = tree.root().named_children().at(1);
  ASSERT_EQ(part.type(), "decorated_definition");
  Places expected;
  by_children(part, "", expected);
  EXPECT_EQ(by_walk(part, ""), expected);
  EXPECT_EQ(by_nodes(part, ""), expected);
}

TEST(Walk, OfNoNodeEntersThatAlone) {
  const Tree tree(source);
  const Node none = tree.root().field("body");
  ASSERT_TRUE(none.is_null());
  EXPECT_EQ(by_walk(none, "").size(), 1U);
  EXPECT_EQ(by_nodes(none, "").size(), 1U);
}

}  // namespace
}  // namespace kw::syntax
