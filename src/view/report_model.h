// The model of a report as `view` serves it, with its summary and the labels of human reviews.
#pragma once

#include <boost/json/object.hpp>
#include <functional>

#include "report/model/model.h"
#include "view/model.h"

namespace kw::view {

struct ReportOptions {
  report::ModelOptions model;
  // The field `summary` of the index.
  std::function<boost::json::object(const report::Index&)> summary;
};

ModelReader report_reader(const ReportOptions& options);

}  // namespace kw::view
