// View: reads JSON with missing parts and parts of other types.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kw::scoring {

class View {
 public:
  explicit View(const boost::json::value* value) : value_(value) {}
  explicit View(const boost::json::value& value) : value_(&value) {}
  explicit View(const boost::json::object& object) : object_(&object) {}

  // A missing part is an empty View, and so are its parts.
  View operator[](std::string_view key) const {
    const boost::json::object* object = this->object();
    return View(object ? object->if_contains(key) : nullptr);
  }
  // Null for a missing part, and for a View of an object.
  const boost::json::value* value() const { return value_; }
  bool is_there() const { return value_ && !value_->is_null(); }
  bool is_list() const { return value_ && value_->is_array(); }
  bool is_true() const { return value_ && value_->is_bool() && value_->get_bool(); }
  std::optional<double> number() const {
    boost::system::error_code error;
    if (!value_ || !value_->is_number()) return {};
    return value_->to_number<double>(error);
  }
  std::size_t count() const {
    double value = number().value_or(0);
    return value > 0 && value < 1e15 ? static_cast<std::size_t>(value) : 0;
  }
  std::string text() const {
    return value_ && value_->is_string() ? std::string(value_->get_string()) : std::string();
  }
  std::vector<View> list() const {
    std::vector<View> parts;
    if (const boost::json::array* array = value_ ? value_->if_array() : nullptr)
      for (const boost::json::value& each : *array) parts.emplace_back(each);
    return parts;
  }
  std::vector<std::pair<std::string, View>> members() const {
    std::vector<std::pair<std::string, View>> parts;
    if (const boost::json::object* object = this->object())
      for (const auto& [name, value] : *object) parts.emplace_back(std::string(name), View(value));
    return parts;
  }

 private:
  const boost::json::object* object() const {
    return object_ ? object_ : value_ ? value_->if_object() : nullptr;
  }

  const boost::json::value* value_ = nullptr;
  const boost::json::object* object_ = nullptr;
};

}  // namespace kw::scoring
