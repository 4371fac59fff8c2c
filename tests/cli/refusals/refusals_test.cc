// Bad input, row by row: what was asked, exit status, code, reason, field, sentence. After each the database
// holds the same bytes and the server answers. The rows are testdata/refusals/*.tsv; LOCUS_UPDATE_GOLDEN=1
// writes them anew, to be read like code.
#include <gmock/gmock.h>

#include <fstream>

#include "client/client.h"
#include "core/base/error.h"
#include "core/base/sha256.h"
#include "tests/cli/program.h"
#include "tests/cli/refusals/cases.h"
#include "tests/cli/refusals/golden.h"

namespace locus {
namespace {

std::string shown_command(const Mistake& mistake) {
  std::string out = "locus";
  for (const std::string& word : mistake.arguments) {
    const bool plain = !word.empty() && word.find_first_of(" {}[]\"'$<>|&;*\\\t\n") == std::string::npos;
    out += plain ? " " + word : " '" + word + "'";
  }
  return out;
}

class Refusals : public ::testing::Test {
 protected:
  void SetUp() override {
    const Outcome stored =
        run_locus({"submit", "-", "--set", "name=present", "--server", server_.address()}, right_specification());
    ASSERT_EQ(stored.status, 0) << stored.err;
    client_ = *Client::connect(server_.address());
    before_ = database();
  }

  // Makes each mistake and compares the table with the golden one.
  void check(const std::string& name, const std::vector<Mistake>& mistakes, std::size_t least, int exit_status) {
    EXPECT_GE(mistakes.size(), least);
    std::string table = "command\texit\tcode\treason\tfield\ttext\n";
    for (const Mistake& mistake : mistakes) table += row(mistake, exit_status);
    compare_golden(name, table);
  }

 private:
  std::string row(const Mistake& mistake, int exit_status) {
    std::vector<std::string> words = mistake.arguments;
    words.insert(words.begin() + (words.empty() ? 0 : 1), "--json");
    const Outcome outcome = run_locus(words, mistake.input, {{"LOCUS_SERVER", server_.address()}});
    const std::string command = cell(hidden(shown_command(mistake)));
    SCOPED_TRACE(command);
    EXPECT_EQ(outcome.status, exit_status) << outcome.out << outcome.err;
    EXPECT_EQ(outcome.out, "") << "a refusal prints nothing on standard output";
    const Json answer = Json::parse(outcome.err, nullptr, false);
    EXPECT_TRUE(answer.is_object() && answer.contains("error")) << outcome.err;
    if (!answer.is_object() || !answer.contains("error")) return command + "\n";
    const Json& error = answer["error"];
    const std::string reason = error.value("reason", ""), text = error.value("message", "");
    EXPECT_TRUE(parse_error_reason(reason)) << "no reason, or an unknown one: " << outcome.err;
    EXPECT_NE(reason, "INVARIANT_BROKEN") << text;
    EXPECT_GE(text.size(), 10u);
    EXPECT_LE(text.size(), 2000u) << "a sentence is not the place to repeat the input";
    EXPECT_EQ(database(), before_) << "something was stored";
    EXPECT_TRUE(client_->get_server().ok());
    return command + "\t" + std::to_string(outcome.status) + "\t" + error.value("code", "") + "\t" + reason + "\t" +
           cell(error.value("field", "")) + "\t" + cell(hidden(text)) + "\n";
  }

  std::string hidden(const std::string& text) {
    return without(without(text, folder_.path().string(), "FOLDER"), server_.address(), "HOST:PORT");
  }

  // Of the database and its log: whatever is stored shows.
  std::string database() {
    Sha256 hash;
    for (const char* file : {"locus.db", "locus.db-wal"})
      hash.update(bytes_of((folder_.path() / "data" / file).string()));
    return hash.hex_digest();
  }

 protected:
  TemporaryFolder folder_;

 private:
  LiveServer server_{folder_.path() / "data"};
  std::unique_ptr<Client> client_;
  std::string before_;
};

TEST_F(Refusals, OfEveryKeyOfASpecification) { check("keys", wrong_keys(), 100, 1); }

TEST_F(Refusals, OfEveryOptionOfTheCatalog) {
  std::ifstream in(LOCUS_TEST_CATALOG);
  check("options", wrong_options(Json::parse(in)), 90, 1);
}

TEST_F(Refusals, OfWhatCannotBeMeant) { check("meanings", wrong_meanings(), 75, 1); }

TEST_F(Refusals, OfEveryCommandAndOption) { check("usage", wrong_usage(manual()), 150, 2); }

TEST_F(Refusals, OfNamesThatAreNotThere) { check("names", wrong_names(manual()), 150, 1); }

TEST_F(Refusals, OfFilesThatAreNoSpecification) { check("files", wrong_files(folder_.path().string()), 17, 1); }

}  // namespace
}  // namespace locus
