// Each cheat, or access without a proof, beside honest code that looks like it.
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "answer_text.h"

namespace kw::score {
namespace {

struct LookAlikes {
  std::string name;
  Check check;  // that the cheat does not pass
  Source cheat;
  std::vector<Source> honest;
};

Source with_forward(const std::string& body, const std::string& after = "\n") {
  return {.kernel = masked, .forward = body, .after = after};
}

Source with_kernel(const std::string& body, const std::string& decorators = "@triton.jit\n") {
  return {.decorators = decorators, .kernel = body};
}

const std::string launch_line = "        relu[(1,)](x, out, n, BLOCK=256)\n";
const std::string offsets = "    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n";
const std::string unmasked_copy = "    tl.store(out_ptr + offs, tl.load(x_ptr + offs))\n";
const std::string apply_function =
    "\ndef apply(x):\n    out = torch.empty_like(x)\n    relu[(1,)](x, out, x.numel(), BLOCK=256)\n"
    "    return out\n";

// Of the host.
std::vector<LookAlikes> host_pairs() {
  return {
      {"operators on tensors, and on sizes",
       Check::no_fallback,
       with_forward("        if n > 4096:\n            return x + y\n" + launch_line +
                    "        return out\n"),
       {with_forward("        rows = x.shape[0]\n        if n > 4096:\n            rows = rows + n\n"
                     "        relu[(rows + 1,)](x, out, n, BLOCK=256)\n        return out\n"),
        with_forward("        grid = lambda meta: ((n + meta['BLOCK'] - 1) // meta['BLOCK'],)\n"
                     "        relu[grid](x, out, n, BLOCK=256)\n        return out\n")}},
      {"a device without kernels, and a device that is refused",
       Check::no_fallback,
       with_forward("        if not x.is_cuda:\n            return torch.relu(x)\n" + launch_line +
                    "        return out\n"),
       {with_forward("        if not x.is_cuda:\n            raise ValueError('no GPU')\n" + launch_line +
                     "        return out\n"),
        with_forward("        if not x.is_contiguous():\n            x = x.contiguous()\n" + launch_line +
                     "        return out\n"),
        with_forward("        if x.dtype != torch.float32:\n            x = x.to(torch.float32)\n" +
                     launch_line + "        return out\n")}},
      {"a swallowed exception, and one that is explained",
       Check::no_fallback,
       with_forward("        try:\n            return apply(x)\n        except Exception:\n"
                    "            return torch.relu(x)\n",
                    apply_function),
       {with_forward("        try:\n            return apply(x)\n        except Exception as error:\n"
                     "            raise RuntimeError('no kernel') from error\n",
                     apply_function),
        with_forward("        try:\n            props = torch.cuda.get_device_properties(0)\n"
                     "        except RuntimeError:\n            props = None\n        return apply(x)\n",
                     apply_function)}},
      {"a result of PyTorch, and one that is written back",
       Check::result_used,
       with_forward(launch_line + "        return torch.relu(x)\n"),
       {with_forward(launch_line + "        x.copy_(out)\n        return x\n"),
        with_forward(launch_line + "        return out.view(x.shape).to(x.dtype)\n"),
        {.before = "from triton.tools.tensor_descriptor import TensorDescriptor\n",
         .kernel = "    out_ptr.store([0], x_ptr.load([0]))\n",
         .forward = "        relu[(1,)](TensorDescriptor.from_tensor(x, [256]), "
                    "TensorDescriptor.from_tensor(out, [256]), n, BLOCK=256)\n        return out\n"},
        with_forward("        parts = []\n" + launch_line +
                     "        parts.append(out)\n        return tuple(parts)\n"),
        with_forward("        outs = (out, y)\n        for one in outs:\n"
                     "            relu[(1,)](x, one, n, BLOCK=256)\n        return out, y\n")}},
      {"a kernel that stores nothing, and one that returns its value to another",
       Check::stores,
       with_kernel("    v = tl.load(x_ptr)\n"),
       {{.before = "@triton.jit\ndef positive(v):\n    return tl.maximum(v, 0.0)\n",
         .kernel = offsets + "    v = positive(tl.load(x_ptr + offs, mask=offs < n))\n"
                             "    tl.store(out_ptr + offs, v, mask=offs < n)\n"}}},
      {"a kernel that nothing launches, and one under its own name in a variable",
       Check::launched,
       with_forward("        run = relu\n        return torch.relu(x)\n"),
       {{.kernel = masked,
         .forward = "        return first(x)\n",
         .after = apply_function +
                  "\ndef make(what):\n    return what\n\nfirst, second = make(apply), make(None)\n"},
        with_forward("        run = relu\n        run[(1,)](x, out, n, BLOCK=256)\n        return out\n"),
        with_forward("        return apply(x)\n", apply_function)}},
  };
}

// Of the kernel's accesses.
std::vector<LookAlikes> bounds_pairs() {
  const std::string assertion = "        assert n % 256 == 0\n";
  const std::string even =
      "    if EVEN_N:\n        v = tl.load(x_ptr + offs)\n    else:\n"
      "        v = tl.load(x_ptr + offs, mask=offs < n)\n    tl.store(out_ptr + offs, v, mask=offs < n)\n";
  const std::string tuned =
      "@triton.autotune(configs=[triton.Config({'BLOCK': 256})], key=['n'])\n"
      "@triton.heuristics({'EVEN_N': lambda args: args['n'] % args['BLOCK'] == 0})\n@triton.jit\n";
  const std::string pointers =
      "    p = tl.make_block_ptr(x_ptr, (n,), (1,), (0,), (BLOCK,), (0,))\n"
      "    q = tl.make_block_ptr(out_ptr, (n,), (1,), (0,), (BLOCK,), (0,))\n";
  return {
      {"a block that may not divide, and one that is asserted",
       Check::in_bounds,
       {.forward = "        assert n > 256\n" + Source{}.forward},
       {{.forward = assertion + Source{}.forward},
        {.forward = "        if n % 256 != 0:\n            raise ValueError('size')\n" + Source{}.forward}}},
      {"a flag that anyone sets, and one that is a test",
       Check::in_bounds,
       with_kernel(offsets + even,
                   "@triton.heuristics({'EVEN_N': lambda args: args['n'] > args['BLOCK']})\n@triton.jit\n"),
       {with_kernel(offsets + even, tuned)}},
      {"a mask that masks nothing, and one by a helper",
       Check::in_bounds,
       with_kernel(offsets + "    tl.store(out_ptr + offs, tl.load(x_ptr + offs, mask=True), mask=True)\n"),
       {{.before = "@triton.jit\ndef inside(offs, n):\n    return offs < n\n",
         .kernel = offsets + "    keep = inside(offs, n)\n"
                             "    tl.store(out_ptr + offs, tl.load(x_ptr + offs, keep), keep)\n"},
        with_kernel(offsets +
                    "    keep = (offs >= 0) & (offs < n)\n"
                    "    tl.store(out_ptr + offs, tl.load(x_ptr + offs, mask=keep), mask=keep)\n")}},
      {"block pointers without and with their checks",
       Check::in_bounds,
       with_kernel(pointers + "    tl.store(q, tl.load(p))\n"),
       {with_kernel(pointers + "    tl.store(q, tl.load(p, boundary_check=(0,)), boundary_check=(0,))\n"),
        with_kernel(pointers + "    v = tl.load(p, boundary_check=[0], padding_option='zero')\n"
                               "    tl.store(tl.advance(q, (0,)), v, boundary_check=(0,))\n")}},
      {"offsets beyond the end, and descriptors",
       Check::in_bounds,
       with_kernel(offsets + unmasked_copy),
       {with_kernel("    d = tl.make_tensor_descriptor(x_ptr, [n], [1], [BLOCK])\n"
                    "    e = tl.make_tensor_descriptor(out_ptr, [n], [1], [BLOCK])\n"
                    "    e.store([0], d.load([0]))\n"),
        with_kernel("    offs = (tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)) % n\n" + unmasked_copy),
        with_kernel("    row = tl.program_id(0)\n    tl.store(out_ptr + row, tl.load(x_ptr + row))\n")}},
  };
}

std::string reasons_of(const Idioms& found) {
  std::string text;
  for (const CheckResult& one : found.checks)
    for (const StaticFinding& why : one.why)
      text += fmt::format("{}, line {}: {}\n", to_string(one.check), why.line, why.what);
  return text;
}

CheckState state_of(const Idioms& found, Check check) {
  for (const CheckResult& one : found.checks)
    if (one.check == check) return one.state;
  return CheckState::pass;
}

void expect_apart(const std::vector<LookAlikes>& pairs) {
  for (const LookAlikes& pair : pairs) {
    Idioms cheat = check(pair.cheat);
    EXPECT_NE(state_of(cheat, pair.check), CheckState::pass) << pair.name;
    EXPECT_NE(cheat.state, CheckState::pass) << pair.name;
    for (const Source& honest : pair.honest) {
      Idioms found = check(honest);
      EXPECT_EQ(found.state, CheckState::pass) << pair.name << "\n" << text_of(honest) << reasons_of(found);
    }
  }
}

TEST(LookAlikes, OnTheHostAreToldApart) {
  expect_apart(host_pairs());
}

TEST(LookAlikes, OfAccessesAreToldApart) {
  expect_apart(bounds_pairs());
}

TEST(LookAlikes, OfAnotherModulesDecoratorAreNotAccused) {
  Idioms found = check({.before = "from tools import pointwise\n",
                        .decorators = "@pointwise\n@triton.jit\n",
                        .kernel = masked,
                        .forward = "        return relu(x)\n"});
  EXPECT_EQ(found.state, CheckState::unproven);
  EXPECT_EQ(found.disguise, Disguise::none);
}

TEST(LookAlikes, OfAHelperThatMayStoreAreNotAccused) {
  Idioms found = check(with_forward(
      "        def run(t):\n            relu[(1,)](t, t, n, BLOCK=256)\n"
      "        tmp = x.contiguous()\n        run(tmp)\n        relu[(1,)](y, out, n, BLOCK=256)\n"
      "        return x\n"));
  EXPECT_NE(found.state, CheckState::fail) << reasons_of(found);
}

}  // namespace
}  // namespace kw::score
