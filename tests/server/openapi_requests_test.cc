// The OpenAPI document against the server: requests made from it get documented answers of documented shape, and its
// bounds are those that the server holds to.
#include <limits>
#include <map>
#include <random>
#include <regex>

#include "tests/server/support/openapi_fixture.h"

namespace locus::test {
namespace {

// What is wrong with a value under a schema of the document; empty: nothing.
std::string fault(const Json& document, const Json& schema, const Json& value, const std::string& path = "$") {
  if (schema.contains("$ref")) {
    const std::string name = schema["$ref"].get<std::string>().substr(std::string("#/components/schemas/").size());
    if (!document["components"]["schemas"].contains(name)) return path + ": no schema " + name;
    return fault(document, document["components"]["schemas"][name], value, path);
  }
  if (schema.contains("oneOf")) {
    int fits = 0;
    for (const Json& one : schema["oneOf"]) fits += fault(document, one, value, path).empty() ? 1 : 0;
    return fits == 1 ? "" : path + " fits " + std::to_string(fits) + " of the alternatives: " + value.dump();
  }
  if (schema.contains("enum")) {
    for (const Json& one : schema["enum"]) {
      if (one == value) return "";
    }
    return path + " is none of the listed values: " + value.dump();
  }
  const std::string type = schema.value("type", "");
  const bool right = type.empty() || (type == "string" && value.is_string()) ||
                     (type == "boolean" && value.is_boolean()) || (type == "integer" && value.is_number_integer()) ||
                     (type == "number" && value.is_number()) || (type == "array" && value.is_array()) ||
                     (type == "object" && value.is_object());
  if (!right) return path + " is no " + type + ": " + value.dump().substr(0, 80);
  if (schema.contains("pattern")) {
    const std::regex pattern(schema["pattern"].get<std::string>());
    if (!std::regex_search(value.get<std::string>(), pattern))
      return path + " does not match " + schema["pattern"].dump() + ": " + value.dump();
  }
  if (type == "array" && schema.contains("items")) {
    for (std::size_t i = 0; i < value.size(); ++i) {
      const std::string found = fault(document, schema["items"], value[i], path + "[" + std::to_string(i) + "]");
      if (!found.empty()) return found;
    }
  }
  if (type != "object") return "";
  for (const Json& name : schema.value("required", Json::array())) {
    if (!value.contains(name.get<std::string>())) return path + " lacks " + name.dump();
  }
  for (const auto& [name, member] : value.items()) {
    const Json properties = schema.value("properties", Json::object());
    std::string found;
    if (properties.contains(name)) {
      found = fault(document, properties[name], member, path + "." + name);
    } else if (schema.contains("additionalProperties")) {
      found = fault(document, schema["additionalProperties"], member, path + "." + name);
    } else if (!properties.empty()) {
      found = path + "." + name + " is not documented";
    }
    if (!found.empty()) return found;
  }
  return "";
}

class OpenApiRequests : public OpenApiTest {
 protected:
  // Values for a parameter: good ones for what exists, and everything else one might be sent.
  std::vector<std::string> values_for(const Json& parameter) {
    const std::string name = parameter["name"];
    const std::string type = parameter["schema"].value("type", "");
    std::vector<std::string> out = {"",
                                    "0",
                                    "-1",
                                    "x",
                                    "99999999999999999999",
                                    "%22%7B",
                                    "%C3%A9",
                                    "null",
                                    std::string(300, 'a'),
                                    "..%2F..%2Fetc%2Fpasswd",
                                    "%3Cscript%3E",
                                    "1.5",
                                    "NaN"};
    if (type == "boolean") out.insert(out.end(), {"true", "false", "true", "false"});
    if (type == "integer") out.insert(out.end(), {"1", "2", "7", "2147483647"});
    for (int i = 0; i < 8; ++i) {  // mostly what exists, or little is ever reached
      if (name == "name") out.push_back("small");
      if (name == "experiment") out.push_back("small");
      if (name == "ordinal") out.push_back(std::to_string(i));
      if (name == "stage") out.push_back(stage_);
      if (name == "sha256") out.push_back(digest_);
      if (name == "prior") out.push_back("violin");
      if (name == "metric") out.push_back("top1");
      if (name == "split") out.push_back("test");
      if (name == "items") out.push_back(i % 2 == 0 ? "small%2F0" : "small%2Fcells%2F1");
    }
    return out;
  }

  // Values at both sides of each bound of a schema, and whether they are taken.
  static std::vector<std::pair<std::vector<std::string>, bool>> edges_of(const Json& schema) {
    std::vector<std::pair<std::vector<std::string>, bool>> out;
    const auto limit = std::numeric_limits<std::int32_t>::max();
    if (schema.value("type", "") == "integer") {
      const std::int64_t least = schema["minimum"], most = schema["maximum"];
      out.push_back({{std::to_string(least)}, true});
      if (least > std::numeric_limits<std::int64_t>::min()) out.push_back({{std::to_string(least - 1)}, false});
      if (most <= limit) out.push_back({{std::to_string(most + 1)}, false});
      if (most < limit) out.push_back({{std::to_string(most)}, true});
    }
    if (schema.value("type", "") == "number" && schema.contains("minimum")) out.push_back({{"-0.5"}, false});
    if (schema.contains("exclusiveMaximum")) out.insert(out.end(), {{{"1"}, false}, {{"0.99"}, true}});
    if (schema.contains("enum")) {
      for (const Json& one : schema["enum"]) out.push_back({{one.get<std::string>()}, true});
      out.push_back({{"nonsense"}, false});
    }
    if (schema.contains("minItems") && schema.value("type", "") == "array" && schema["items"]["type"] == "string") {
      const std::string item = "small%2F0";
      out.push_back({std::vector<std::string>(schema["minItems"].get<std::size_t>() - 1, item), false});
      out.push_back({std::vector<std::string>(schema["maxItems"].get<std::size_t>() + 1, item), false});
    }
    if (schema.contains("pattern")) {
      const std::regex pattern(schema["pattern"].get<std::string>());
      out.push_back({{"%01"}, false});  // a control character is in no pattern
      if (!std::regex_search("nonsense", pattern)) out.push_back({{"nonsense"}, false});
    }
    return out;
  }

  // A request that the server takes but for what one parameter holds.
  std::string with_parameter(std::string path, const Json& operation, const std::string& name,
                             const std::vector<std::string>& values) const {
    const std::string named = path.find("/workers/") == std::string::npos ? "small" : "one";
    const std::map<std::string, std::string> known = {
        {"name", named}, {"ordinal", "0"}, {"stage", stage_}, {"sha256", digest_}, {"prior", "violin"}};
    std::string query = "?";
    for (const Json& parameter : operation["parameters"]) {
      const std::string other = parameter["name"];
      if (parameter["in"] == "path") {
        path.replace(path.find("{" + other + "}"), other.size() + 2, known.at(other));
      } else if (parameter["required"] == true && other != name) {
        query += other == "items" ? "items=small%2F0&items=small%2F1&" : other + "=loss&split=train&";
      }
    }
    for (const std::string& value : values) query += name + "=" + value + "&";
    return path + query;
  }

  std::string pick(const std::vector<std::string>& from) { return from[random_() % from.size()]; }

  // A request made from an operation of the document.
  std::string target_of(std::string pattern, const Json& operation) {
    std::string query;
    for (const Json& parameter : operation["parameters"]) {
      const std::string name = parameter["name"];
      if (parameter["in"] == "path") {
        std::string value = pick(values_for(parameter));
        pattern.replace(pattern.find("{" + name + "}"), name.size() + 2, value);
        continue;
      }
      const int times = parameter["schema"].value("type", "") == "array" ? static_cast<int>(random_() % 4)
                                                                         : static_cast<int>(random_() % 2);
      for (int i = 0; i < times; ++i) query += (query.empty() ? "?" : "&") + name + "=" + pick(values_for(parameter));
    }
    return pattern + query;
  }

  std::string body_of(const Json& operation) {
    if (!operation.contains("requestBody")) return "";
    const Json& schema = operation["requestBody"]["content"]["application/json"]["schema"];
    if (schema["properties"].empty()) return pick({"", "", "{}", "{}", "nonsense", "{\"unknown\": 1}"});
    const Json specification = small_specification({{"name", "made-" + std::to_string(random_() % 4)}});
    const std::vector<std::string> bodies = {"",
                                             "{}",
                                             "[]",
                                             "nonsense",
                                             "{\"spec_json\": 7}",
                                             "{\"unknown\": 1}",
                                             Json{{"spec_json", "{}"}}.dump(),
                                             Json{{"spec_json", specification.dump()}}.dump(),
                                             Json{{"spec_json", specification.dump()}}.dump()};
    return pick(bodies);
  }

  void check_answer(const std::string& method, const std::string& target, const Json& operation,
                    const HttpAnswer& answer) {
    const std::string said = method + " " + target + " -> " + std::to_string(answer.status);
    // A path value may make another address of it: then there is nothing there, or not with this method.
    if (answer.status == 405) return;
    const Json& responses = operation["responses"];
    ASSERT_TRUE(responses.contains(std::to_string(answer.status))) << said << " is not documented\n" << answer.body;
    const Json& stated = responses[std::to_string(answer.status)];
    const Json& refusal = document_["components"]["responses"]["Refusal"];
    const Json& content = (stated.contains("$ref") ? refusal : stated)["content"];
    const std::string type = answer.headers.at("content-type").substr(0, answer.headers.at("content-type").find(';'));
    if (answer.status == 200 && type == "text/html") return;
    ASSERT_TRUE(content.contains(type)) << said << " has the type " << type;
    ++seen_[answer.status];
    if (type != "application/json") return;
    const Json body = Json::parse(answer.body, nullptr, false);
    ASSERT_FALSE(body.is_discarded()) << said << ": " << answer.body.substr(0, 200);
    EXPECT_EQ(fault(document_, content[type]["schema"], body), "") << said;
    EXPECT_LT(answer.status, 500) << said << ": " << answer.body;
  }

  std::mt19937 random_{20260101};
  std::map<int, int> seen_;
};

TEST_F(OpenApiRequests, ItsBoundsAreThoseOfTheServer) {
  int tried = 0;
  for (const auto& [path, methods] : document_["paths"].items()) {
    if (path == "/api/v1/events") continue;
    for (const auto& [method, operation] : methods.items()) {
      for (const Json& parameter : operation["parameters"]) {
        if (parameter["in"] != "query") continue;
        for (const auto& [values, taken] : edges_of(parameter["schema"])) {
          const std::string target = with_parameter(path, operation, parameter["name"], values);
          const HttpAnswer answer = method == "get" ? http().get(target) : http().post(target, "");
          // A good value may still meet a server that cannot do it now (FAILED_PRECONDITION is 400 as well).
          const bool refused = answer.status == 400 && answer.json()["error"]["status"] != "FAILED_PRECONDITION";
          EXPECT_EQ(refused, !taken) << target << " -> " << answer.status << " " << answer.body;
          ++tried;
        }
      }
    }
  }
  EXPECT_GT(tried, 50);
  const Json& table = document_["paths"]["/api/v1/paper-table"]["post"]["requestBody"]["content"]["application/json"];
  for (const auto& [name, field] : table["schema"]["properties"].items()) {
    if (name == "experiments") continue;  // several would have to exist
    const Json scalar = field.contains("oneOf") ? field["oneOf"][0] : field;
    for (const auto& [values, taken] : edges_of(scalar)) {
      Json body = {{"experiments", {"small"}}};
      const bool text = scalar.value("type", "") == "string";
      body[name] = text ? Json(values.front()) : Json::parse(values.front());
      const int status = http().post("/api/v1/paper-table", body.dump()).status;
      EXPECT_EQ(status == 400, !taken) << body << " -> " << status;
    }
  }
}

TEST_F(OpenApiRequests, ADownloadBeginsAtItsOffset) {
  const std::string address = "/api/v1/artifacts/" + digest_;
  EXPECT_NE(http().get(address).body.find("weights of nobody"), std::string::npos);
  const std::string rest = http().get(address + "?offset=8").body;
  EXPECT_NE(rest.find("of nobody"), std::string::npos);
  EXPECT_EQ(rest.find("weights"), std::string::npos);
}

TEST_F(OpenApiRequests, MadeRequestsGetDocumentedAnswersOfDocumentedShape) {
  int requests = 0;
  for (const auto& [path, methods] : document_["paths"].items()) {
    if (path == "/api/v1/events") continue;  // never ends; tested by itself
    for (const auto& [method, operation] : methods.items()) {
      for (int i = 0; i < 25; ++i) {
        const std::string target = target_of(path, operation);
        const HttpAnswer answer = method == "get" ? http().get(target) : http().post(target, body_of(operation));
        check_answer(method, target, operation, answer);
        ++requests;
        if (HasFatalFailure()) return;
      }
    }
  }
  EXPECT_GT(requests, 900);
  // Neither all good nor all bad: the requests reach what they are meant to.
  EXPECT_GT(seen_[200], 150);
  EXPECT_GT(seen_[400], 150);
  EXPECT_GT(seen_[404], 30);
  EXPECT_EQ(http().get("/healthz").status, 200) << "and the server lives";
}

}  // namespace
}  // namespace locus::test
