#include "types/certificate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ranges>

#include "types/generality.h"
#include "types/struct_json.h"

namespace kw {
namespace json = boost::json;

BOOST_DESCRIBE_STRUCT(CertifiedInput, (), (input, dtype, shape, varies, values, why_kept, ignored))
BOOST_DESCRIBE_STRUCT(CertifiedOutput, (),
                      (output, dtype, shape, empty_answers, rms, reference_loss, sensitivity, why_unknown,
                       ill_conditioned))
BOOST_DESCRIBE_STRUCT(CertifiedShape, (), (version, tried, sizes, why_not))
BOOST_DESCRIBE_STRUCT(TaskCertificate, (),
                      (id, task_id, work, marks, fault, error, empty_answers, weak_answers, random, unseeded,
                       reduced_sizes, inputs, outputs, shapes, changed_inputs, changed_weights, findings,
                       seconds))

namespace {

using Texts = std::vector<std::string>;

// The names of the items for which the test holds.
template <typename Item, typename Test>
Texts names_where(const std::vector<Item>& items, std::string Item::* name, Test test) {
  Texts names;
  for (const Item& item : items)
    if (test(item)) names.push_back(item.*name);
  return names;
}

// What the mark is about.
Texts subjects_of(TaskMark mark, const TaskCertificate& task) {
  auto inputs = [&](auto test) { return names_where(task.inputs, &CertifiedInput::input, test); };
  auto outputs = [&](auto test) { return names_where(task.outputs, &CertifiedOutput::output, test); };
  switch (mark) {
    case TaskMark::proves_nothing:
      return task.empty_answers;
    case TaskMark::empty_output:
      return outputs([](const CertifiedOutput& each) { return !each.empty_answers.empty(); });
    case TaskMark::weak:
      return task.weak_answers;
    case TaskMark::ignores_input:
      return inputs([](const CertifiedInput& each) { return each.ignored; });
    case TaskMark::constant_input:
      return inputs([](const CertifiedInput& each) { return !each.varies; });
    case TaskMark::nonfinite:
      return outputs([](const CertifiedOutput& each) { return each.why_unknown == NoErrorRatio::nonfinite; });
    case TaskMark::ill_conditioned:
      return outputs([](const CertifiedOutput& each) { return each.ill_conditioned; });
    case TaskMark::refused:
    case TaskMark::random:
    case TaskMark::unseeded:
    case TaskMark::fixed_shapes:
      return {};
  }
  return {};
}

// Empty inputs are no other shape, and a shape that was not tried may be possible.
bool has_fixed_shapes(const TaskCertificate& task) {
  return !task.shapes.empty() && std::ranges::all_of(task.shapes, [](const CertifiedShape& each) {
    return each.version == empty_shape || (each.tried && !each.sizes);
  });
}

bool holds(TaskMark mark, const TaskCertificate& task) {
  switch (mark) {
    case TaskMark::refused:
      return task.fault == Fault::task;
    case TaskMark::empty_output:
      return task.outputs.size() > 1 && task.empty_answers.empty() && !subjects_of(mark, task).empty();
    case TaskMark::random:
      return task.random;
    case TaskMark::unseeded:
      return task.unseeded;
    case TaskMark::fixed_shapes:
      return has_fixed_shapes(task);
    default:
      return !subjects_of(mark, task).empty();
  }
}

}  // namespace

std::vector<TaskMark> marks_of(const TaskCertificate& certificate) {
  std::vector<TaskMark> marks;
  for (std::size_t at = 0; at < enum_words<TaskMark>.size(); ++at)
    if (auto mark = static_cast<TaskMark>(at); holds(mark, certificate)) marks.push_back(mark);
  return marks;
}

std::string in_words(TaskMark mark, const TaskCertificate& certificate) {
  const Texts subjects = subjects_of(mark, certificate);
  if (subjects.empty()) return std::string(to_string(mark));
  return fmt::format("{} ({})", to_string(mark), fmt::join(subjects, ", "));
}

json::object to_json(const TaskCertificate& certificate) {
  json::object object{{"schema", certificate_schema}};
  for (auto& field : struct_json::fields_of(certificate))
    object.emplace(field.key(), std::move(field.value()));
  return object;
}

Result<TaskCertificate> certificate_from_json(const json::object& object) {
  const json::value* schema = object.if_contains("schema");
  if (schema == nullptr || *schema != certificate_schema)
    return fail(fmt::format("not a {} object", certificate_schema));
  TaskCertificate certificate;
  for (auto [name, member] :
       {std::pair{"id", &certificate.id}, {"task_id", &certificate.task_id}, {"work", &certificate.work}})
    if (!struct_json::read_member(object, name, *member))
      return fail("a certificate lacks id, task_id or work");
  struct_json::read_fields(object, certificate);
  return certificate;
}

}  // namespace kw
