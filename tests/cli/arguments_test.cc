// A program declared as data, and what command lines make of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "cli/arguments/reader.h"

namespace locus {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Outcome = Reading::Outcome;

// A program with a command of every kind of argument.
class Arguments : public ::testing::Test {
 protected:
  Arguments() {
    command_.add_option("name", name_, "A name")->required();
    command_.add_option("more", more_, "More names")->expected(1, 2);
    command_.add_option("--count", count_, "How many")->type_name("N")->range(1, 9)->show_default();
    command_.add_option("--wide", wide_, "A large number")->type_name("N");
    command_.add_option("--share", share_, "A share")->type_name("SHARE")->show_default();
    command_.add_option("--folder", folder_, "A folder")->type_name("FOLDER")->show_default();
    command_.add_option("--note", note_, "A note");
    command_.add_option("--form", form_, "A form")->one_of({"text", "csv"})->envname("LOCUS_TEST_FORM");
    command_.add_option("--tag", tags_, "A tag")->type_name("TAG")->one_value_each();
    command_.add_option("--list", list_, "Names")->delimiter(',');
    command_.add_option("--loose", "Read by its name")->type_name("WORD");
    Argument* all = command_.add_flag("--all", all_, "Everything")->envname("LOCUS_TEST_ALL");
    command_.add_flag("--one", "Only one")->excludes(all);
    command_.add_flag("--deep", "Everything of everything")->needs(all);
    command_.add_flag("--no-color", color_, "Without color")->clears();
  }

  Reading read(std::vector<const char*> words) {
    words.insert(words.begin(), "program");
    return read_command_line(program_, static_cast<int>(words.size()), words.data());
  }
  std::string refusal(const std::vector<const char*>& words) {
    const Reading out = read(words);
    EXPECT_EQ(out.outcome, Outcome::kRefused);
    return out.refusal;
  }

  Program program_{"program", "Does things.", "1.2.3", {}};
  Command& command_ = add_command(program_, {"make", "Things", "Make a thing", "", {}});
  std::string name_, form_;
  int count_ = 3;
  std::int64_t wide_ = 0;
  double share_ = 0.95;
  std::filesystem::path folder_ = "/tmp/things";
  std::optional<std::string> note_;
  std::vector<std::string> more_, tags_, list_;
  bool all_ = false, color_ = true;
};

TEST_F(Arguments, GoWhereTheyWereDeclaredToGo) {
  const Reading out = read({"make", "this", "--count", "7", "--wide=5000000000", "--share", "0.5", "--folder", "a b",
                            "--note", "", "--form", "csv", "--all", "--no-color"});
  ASSERT_EQ(out.outcome, Outcome::kRun) << out.refusal;
  EXPECT_EQ(out.command, &command_);
  EXPECT_EQ(name_, "this");
  EXPECT_EQ(count_, 7);
  EXPECT_EQ(wide_, 5'000'000'000);
  EXPECT_EQ(share_, 0.5);
  EXPECT_EQ(folder_, "a b");
  EXPECT_EQ(note_, "");
  EXPECT_EQ(form_, "csv");
  EXPECT_TRUE(all_);
  EXPECT_FALSE(color_);
}

TEST_F(Arguments, ThatAreNotGivenLeaveTheirTargetsAlone) {
  ASSERT_EQ(read({"make", "this"}).outcome, Outcome::kRun);
  EXPECT_EQ(count_, 3);
  EXPECT_EQ(folder_, "/tmp/things");
  EXPECT_FALSE(note_.has_value());
  EXPECT_TRUE(color_);
  EXPECT_FALSE(command_.has("--count"));
  EXPECT_THAT(command_.argument("--loose").given(), IsEmpty());
}

TEST_F(Arguments, OfSeveralValuesTakeThemAsDeclared) {
  ASSERT_EQ(read({"make", "--tag", "a", "this", "--tag", "b", "that", "--list", "x,y", "--loose", "word"}).outcome,
            Outcome::kRun);
  EXPECT_EQ(name_, "this");
  EXPECT_THAT(more_, ElementsAre("that"));
  EXPECT_THAT(tags_, ElementsAre("a", "b"));
  EXPECT_THAT(list_, ElementsAre("x", "y"));
  EXPECT_THAT(command_.argument("--loose").given(), ElementsAre("word"));
  EXPECT_TRUE(command_.has("--tag"));
}

TEST_F(Arguments, ComeFromTheEnvironmentWhereTheLineLacksThem) {
  ASSERT_EQ(::setenv("LOCUS_TEST_FORM", "text", 1), 0);
  const Reading out = read({"make", "this"});
  ::unsetenv("LOCUS_TEST_FORM");
  ASSERT_EQ(out.outcome, Outcome::kRun) << out.refusal;
  EXPECT_EQ(form_, "text");
}

TEST_F(Arguments, ThatAreFlagsComeFromThereToo) {
  ASSERT_EQ(::setenv("LOCUS_TEST_ALL", "1", 1), 0);
  const Reading out = read({"make", "this"});
  ::unsetenv("LOCUS_TEST_ALL");
  ASSERT_EQ(out.outcome, Outcome::kRun) << out.refusal;
  EXPECT_TRUE(all_);
}

TEST_F(Arguments, ThatAreWrongAreRefusedWithASentence) {
  EXPECT_EQ(refusal({"make"}),
            "program make: name is required: program make [OPTIONS] NAME [MORE...]; see program make --help");
  EXPECT_THAT(refusal({"make", "this", "--count", "10"}), HasSubstr("--count: Value 10 not in range 1 to 9"));
  EXPECT_THAT(refusal({"make", "this", "--count", "few"}), HasSubstr("--count"));
  EXPECT_THAT(refusal({"make", "this", "--form", "pdf"}), HasSubstr("--form: pdf not in {text,csv}"));
  EXPECT_THAT(refusal({"make", "this", "--all", "--one"}), HasSubstr(" excludes --"));
  EXPECT_THAT(refusal({"make", "this", "--deep"}), HasSubstr("--deep requires --all"));
  EXPECT_THAT(refusal({"make", "this", "a", "b", "c"}), HasSubstr("more: At Most 2 required but received 3"));
}

TEST_F(Arguments, ThatNobodyDeclaredAreRefusedWithTheNearestName) {
  EXPECT_EQ(refusal({"make", "this", "--cuont", "2"}),
            "program make has no option --cuont; did you mean --count?; see program make --help");
  EXPECT_EQ(refusal({"mke"}), "program has no command 'mke'; did you mean make?; see program --help");
  EXPECT_THAT(refusal({"--what"}), HasSubstr("program has no option --what"));
  EXPECT_THAT(refusal({}), HasSubstr("program needs a command"));
}

TEST_F(Arguments, AskForHelpAndVersion) {
  EXPECT_EQ(read({"--help"}).outcome, Outcome::kHelp);
  EXPECT_EQ(read({"--help"}).command, nullptr);
  EXPECT_EQ(read({"make", "--help"}).command, &command_);
  EXPECT_EQ(read({"--version"}).outcome, Outcome::kVersion);
}

TEST_F(Arguments, AreDescribedAsTheyWereDeclared) {
  const CommandPage page = describe(command_);
  ASSERT_EQ(page.positionals.size(), 2u);
  EXPECT_TRUE(page.positionals[0].required);
  EXPECT_FALSE(page.positionals[0].repeatable);
  EXPECT_TRUE(page.positionals[1].repeatable);
  const auto option = [&](const std::string& name) { return command_.argument(name).page(); };
  EXPECT_EQ(option("--count").value, "N");
  EXPECT_EQ(option("--count").range, "1 to 9");
  EXPECT_EQ(option("--count").initial, "3");
  EXPECT_EQ(option("--share").initial, "0.95");
  EXPECT_EQ(option("--folder").initial, "/tmp/things");
  EXPECT_EQ(option("--note").value, "TEXT");
  EXPECT_EQ(option("--form").variable, "LOCUS_TEST_FORM");
  EXPECT_THAT(option("--form").choices, ElementsAre("text", "csv"));
  EXPECT_TRUE(option("--tag").repeatable);
  EXPECT_EQ(option("--all").value, "");
  EXPECT_THROW(command_.argument("--unheard-of"), std::logic_error);
}

}  // namespace
}  // namespace locus
