#include "pkg/yaml/document.h"

#include <yaml-cpp/eventhandler.h>

#include <sstream>

namespace yaml {
namespace {

using base::Invalid, base::Result;

constexpr int kNodesMax = 100'000;
constexpr int kAliasesMax = 100;
constexpr int kValuesMax = 1000;
constexpr int kLevelsMax = 32;

// Reads a text without building nodes, and refuses one that would grow too large.
class Budget final : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark& /*mark*/) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t /*anchor*/) override { CountNode(mark); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t /*anchor*/) override {
    if (++aliases_ > kAliasesMax) throw YAML::ParserException(mark, "more than 100 aliases");
  }
  void OnScalar(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t /*anchor*/,
                const std::string& /*value*/) override {
    CountNode(mark);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& /*tag*/,
                       YAML::anchor_t /*anchor*/, YAML::EmitterStyle::value /*style*/) override {
    CountNode(mark);
  }
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t /*anchor*/,
                  YAML::EmitterStyle::value /*style*/) override {
    CountNode(mark);
  }
  void OnMapEnd() override {}

 private:
  void CountNode(const YAML::Mark& mark) {
    if (++nodes_ > kNodesMax) throw YAML::ParserException(mark, "more than 100,000 nodes");
  }

  int nodes_ = 0;
  int aliases_ = 0;
};

// Sets `documents` to their number, and stops counting at two.
Result<YAML::Node> Parse(const std::string& text, const std::string& file, int& documents) {
  try {
    std::istringstream stream(text);
    YAML::Parser parser(stream);
    Budget budget;
    for (documents = 0; documents < 2 && parser.HandleNextDocument(budget); ++documents) {
    }
    return YAML::Load(text);
  } catch (const YAML::Exception& exception) {
    const std::string line =
        exception.mark.is_null() ? "" : ":" + std::to_string(exception.mark.line + 1);
    return Invalid(file + line + ": not YAML: " + exception.msg);
  }
}

json::Value ScalarOf(const YAML::Node& node) {
  const std::string& text = node.Scalar();
  const bool is_quoted_or_tagged = node.Tag() != "?";
  if (is_quoted_or_tagged) return text;
  if (text == "true" || text == "True" || text == "TRUE") return true;
  if (text == "false" || text == "False" || text == "FALSE") return false;
  const bool may_be_number =
      !text.empty() && (text.front() == '-' || (text.front() >= '0' && text.front() <= '9'));
  if (!may_be_number) return text;
  const Result<json::Value> number = json::Parse(text);
  return number ? *number : text;
}

// `values` is the number of values so far.
Result<json::Value> Convert(const YAML::Node& node, int level, int& values) {
  if (++values > kValuesMax || level > kLevelsMax) {
    return Invalid("more than 1000 values or 32 levels");
  }
  if (node.IsScalar()) return ScalarOf(node);
  json::Value value;
  if (node.IsMap()) {
    value = json::Value::Object();
    for (const auto& member : node) {
      if (!member.first.IsScalar()) return Invalid("a key that is not a string");
      value[member.first.Scalar()] = TRY(Convert(member.second, level + 1, values));
    }
  }
  if (node.IsSequence()) {
    value = json::Value::Array();
    for (const auto& item : node) value.Append(TRY(Convert(item, level + 1, values)));
  }
  return value;
}

}  // namespace

Result<YAML::Node> ParseFirst(const std::string& text, const std::string& file) {
  int documents = 0;
  return Parse(text, file, documents);
}

Result<YAML::Node> ParseOnly(const std::string& text, const std::string& file) {
  int documents = 0;
  YAML::Node node = TRY(Parse(text, file, documents));
  if (documents != 1) return Invalid(file + ": write one document");
  return node;
}

Result<json::Value> ToJson(const YAML::Node& node) {
  int values = 0;
  return Convert(node, 1, values);
}

}  // namespace yaml
