// The figures of a report for papers. Each figure NAME has NAME.csv with its data and NAME.txt with its
// caption and claims; a Python helper draws NAME.svg and NAME.png. What was not measured is not drawn, and
// its caption says so.
#pragma once

#include <boost/json/object.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "report/model/index.h"
#include "report/summary/overview.h"

namespace kw::report {

struct Figure {
  std::string name;                 // of its files, without their endings
  boost::json::object description;  // as python/kernelwright/_figures/report.py reads it; empty: not drawn
  std::string csv;                  // empty: no data
  std::string caption;              // several lines, for a text file
};

std::vector<Figure> figures_of(const Index& index, const Overview& overview);

// Interpreter and script that draw.
struct Drawer {
  std::string python;
  std::filesystem::path script;
};

struct WrittenFigures {
  std::vector<std::string> drawn;      // names
  std::vector<std::string> not_drawn;  // their captions say why
};

// Makes the folder. Replaces the figures of an earlier report there, and refuses to replace a file that is
// none of them.
Result<WrittenFigures> write_figures(const std::vector<Figure>& figures, const std::filesystem::path& folder,
                                     const Drawer& drawer);

}  // namespace kw::report
