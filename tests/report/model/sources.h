// Small files of traces, verdicts and rows, and a model that has read them.
#pragma once

#include <gtest/gtest.h>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "base/core/files.h"
#include "loop/run_store/store_world.h"
#include "report/model/model.h"
#include "support/world.h"
#include "types/trace.h"
#include "types/verdict.h"

namespace kw::report {

struct Sources {
  Folder folder;

  std::string write(const std::string& name, const std::string& text) const {
    std::string path = folder.path(name);
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    EXPECT_TRUE(write_file(path, text));
    return path;
  }

  // One trace a line in a list, as `run` writes them.
  std::string traces(const std::vector<Trace>& all, const std::string& name = "traces.json") const {
    std::string text;
    for (const Trace& trace : all)
      text += (text.empty() ? "[\n" : ",\n") + boost::json::serialize(multi_turn_json(trace));
    return write(name, text + "\n]\n");
  }

  std::string verdicts(const std::vector<Verdict>& all, const std::string& name = "verdicts.jsonl") const {
    std::string text;
    for (const Verdict& verdict : all) text += boost::json::serialize(to_json(verdict)) + "\n";
    return write(name, text);
  }
};

inline Verdict verdict(const std::string& id, Status status = Status::correct) {
  Verdict made = store::judged(status, status == Status::correct ? std::optional(2.0) : std::nullopt);
  made.id = id;
  made.task_id = "sample/" + id;
  return made;
}

// A model that has read these paths without details.
inline Model model_of(const std::vector<std::string>& paths, ModelOptions options = {}) {
  Model model(paths, std::move(options));
  EXPECT_TRUE(model.read());
  return model;
}

inline std::vector<boost::json::object> details_of(Model& model) {
  std::vector<boost::json::object> details;
  EXPECT_TRUE(model.read([&](std::size_t row, boost::json::object detail) -> Result<> {
    EXPECT_EQ(row, details.size());
    details.push_back(std::move(detail));
    return {};
  }));
  return details;
}

}  // namespace kw::report
