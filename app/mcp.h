// `kernelwright mcp`: the verifier as a tool of coding agents, by the Model Context Protocol.
#pragma once

#include <CLI/CLI.hpp>

#include "options/mcp_flags.h"

namespace kw::app {

// Serves until the end of standard input or a signal, over HTTP until a signal. The exit status is 130 after
// a signal. `verb` is the parsed verb.
int mcp(const McpFlags& flags, const CLI::App& verb);

}  // namespace kw::app
