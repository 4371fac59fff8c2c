// The CIFAR binary format: files as the archives hold them, smaller.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/failure.h"
#include "engine/base/random.h"
#include "engine/data/cifar_dataset.h"
#include "tests/engine/data/idx_fixture.h"

namespace locus::engine {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Records of `heads` label bytes, which `label(row, byte)` tells, and drawn pixels.
template <typename Label>
std::string records(std::int64_t first, std::int64_t count, std::int64_t heads, Label label) {
  std::string out;
  for (std::int64_t row = first; row < first + count; ++row) {
    for (std::int64_t byte = 0; byte < heads; ++byte) out += static_cast<char>(label(row, byte));
    const Tensor pixels =
        RandomStreams(2).uniform("test", "pixels", static_cast<std::uint64_t>(row), {3072}, 0, 256).to(at::kByte);
    out.append(reinterpret_cast<const char*>(pixels.const_data_ptr()), 3072);
  }
  return out;
}

// Three training files of 300 records and one test file of 300, in ten classes: more than are read at once.
class Cifar : public ::testing::Test {
 protected:
  Cifar() {
    layout_.manifest.dataset = "little";
    layout_.manifest.archive = {"little.tar.gz", "https://example.org/little.tar.gz", "abc"};
    layout_.refused = "little-py";
    layout_.train_files = {"bin/one", "bin/two", "bin/three"};
    layout_.test_files = {"bin/test"};
    layout_.sizes = {.train = 850, .validation = 50, .test = 300};
    layout_.label_classes = {10};
    layout_.normalization = {{0.5, 0.5, 0.5}, {0.2, 0.2, 0.2}};
    std::int64_t row = 0;
    for (const char* name : {"bin/one", "bin/two", "bin/three", "bin/test"}) {
      layout_.manifest.files[name].bytes = cifar_bytes(300, 1);
      write_bytes(file(name), records(row, 300, 1, [](std::int64_t r, std::int64_t) { return r * 7 % 10; }));
      row += 300;
    }
  }
  std::filesystem::path file(const std::string& name) const { return folder_.path() / "little" / name; }
  std::shared_ptr<Dataset> open() const { return open_cifar_dataset(layout_, {folder_.path(), {}}); }
  std::string refused(std::string_view split) const {
    try {
      open()->split(split);
    } catch (const DataError& error) {
      return error.what();
    }
    return "not refused";
  }
  void change(const std::string& name, std::size_t at, int byte) const {
    std::string bytes = read_bytes(file(name));
    bytes[at] = static_cast<char>(byte);
    write_bytes(file(name), bytes);
  }

  TemporaryFolder folder_;
  CifarLayout layout_;
};

TEST_F(Cifar, ReadsPlanesAndLabelsInTheOrderOfTheFiles) {
  const auto dataset = open();
  const auto train = dataset->split("train");
  ASSERT_EQ(train->size(), 850);
  for (const std::int64_t row : {0, 255, 256, 299, 300, 849}) {  // about the blocks and the files
    const Sample sample = train->read(row);
    EXPECT_EQ(sample.at(kLabel).item<std::int64_t>(), row * 7 % 10);
    const Tensor pixels =
        RandomStreams(2).uniform("test", "pixels", static_cast<std::uint64_t>(row), {3, 32, 32}, 0, 256).to(at::kByte);
    EXPECT_TRUE(at::equal(sample.at(kImage), pixels)) << row;
  }
  EXPECT_EQ(dataset->split("test")->read(4).at(kLabel).item<std::int64_t>(), 904 * 7 % 10);
}

TEST_F(Cifar, TakesTheLastRowsForValidation) {
  const auto dataset = open();
  EXPECT_EQ(dataset->split("validation")->size(), 50);
  EXPECT_EQ(dataset->split("validation")->read(49).at(kLabel).item<std::int64_t>(), 899 * 7 % 10);
  EXPECT_THROW(dataset->split("all"), std::invalid_argument);
}

TEST_F(Cifar, NamesAMissingFileAndWhereToGetIt) {
  std::filesystem::remove(file("bin/two"));
  EXPECT_THAT(refused("train"),
              AllOf(HasSubstr(file("bin/two").string() + " is missing"), HasSubstr("https://example.org/little.tar.gz"),
                    HasSubstr("-C " + (folder_.path() / "little").string())));
  EXPECT_EQ(refused("test"), "not refused") << "each part needs its own files";
}

TEST_F(Cifar, NamesAnotherVersionThatLiesThere) {
  std::filesystem::remove_all(file("bin"));
  std::filesystem::create_directories(file("little-py"));
  EXPECT_THAT(refused("test"),
              AllOf(HasSubstr("little-py is not the binary version"), HasSubstr("download little.tar.gz")));
}

TEST_F(Cifar, RefusesFilesOfAnotherSize) {
  const std::string bytes = read_bytes(file("bin/test"));
  for (const std::string& other : {bytes.substr(0, bytes.size() - 1), bytes.substr(3073), bytes + "x", std::string()}) {
    write_bytes(file("bin/test"), other);
    EXPECT_THAT(refused("test"), AllOf(HasSubstr("bin/test has " + std::to_string(other.size()) + " bytes where " +
                                                 std::to_string(bytes.size()) + " are expected")));
  }
}

TEST_F(Cifar, NamesFileAndRecordOfALabelThatIsNone) {
  change("bin/three", 270 * 3073, 10);
  EXPECT_THAT(refused("train"), AllOf(HasSubstr("bin/three, record 270: label byte 0 is 10, and there are 10 classes"),
                                      HasSubstr("download little.tar.gz again")));
  change("bin/three", 270 * 3073, 255);
  EXPECT_THAT(refused("train"), HasSubstr("label byte 0 is 255"));
}

TEST_F(Cifar, RefusesClassesOfUnequalSize) {
  change("bin/one", 0, 5);  // was 0: another file of the same size has other labels
  EXPECT_THAT(refused("train"), AllOf(HasSubstr("bin/one and those after it hold 89 images of class 0 where 90"),
                                      HasSubstr("damaged or another file")));
}

TEST_F(Cifar, ReadsTheLabelByteThatIsAskedForAndChecksBoth) {
  layout_.label_classes = {2, 10};
  layout_.train_files = {"bin/one"};
  layout_.sizes = {.train = 80, .validation = 20, .test = 300};
  layout_.manifest.files["bin/one"].bytes = cifar_bytes(100, 2);
  write_bytes(file("bin/one"),
              records(0, 100, 2, [](std::int64_t row, std::int64_t byte) { return byte == 0 ? row % 2 : row % 10; }));
  for (const std::size_t which : {0u, 1u}) {
    layout_.label = which;
    EXPECT_EQ(open()->split("train")->read(7).at(kLabel).item<std::int64_t>(), which == 0 ? 1 : 7);
  }
  change("bin/one", 5 * 3074, 2);
  EXPECT_THAT(refused("train"), HasSubstr("record 5: label byte 0 is 2, and there are 2 classes"));
}

TEST(CifarItems, AreTheBinaryVersionsWithTheirPublishedSizes) {
  const Json ten = dataset_item("cifar-10").item.json().at("facts"), hundred = dataset_facts({{"id", "cifar-100"}});
  ASSERT_EQ(ten.at("manifest").size(), 6u);
  for (const auto& entry : ten.at("manifest").items()) EXPECT_EQ(entry.value(), (Json{{"bytes", 30'730'000}}));
  EXPECT_EQ(hundred.at("manifest").at("cifar-100-binary/train.bin"), (Json{{"bytes", 153'700'000}}));
  EXPECT_EQ(hundred.at("manifest").at("cifar-100-binary/test.bin"), (Json{{"bytes", 30'740'000}}));
  for (const Json& facts : {ten, hundred}) {
    EXPECT_EQ(facts.at("class_names").size(), facts.at("classes"));
    EXPECT_EQ(facts.at("digest"), sha256_hex(canonical_json(facts.at("manifest"))));
    EXPECT_EQ(facts.at("splits"), (Json{{"train", 45000}, {"validation", 5000}, {"test", 10000}}));
  }
  EXPECT_TRUE(std::is_sorted(hundred.at("class_names").begin(), hundred.at("class_names").end()))
      << "as in the archive";
}

TEST(CifarItems, HaveTheFactsOfTheChosenLabels) {
  const Json coarse = dataset_facts({{"id", "cifar-100"}, {"options", {{"labels", "coarse"}}}});
  EXPECT_EQ(coarse.at("classes"), 20);
  EXPECT_EQ(coarse.at("class_names").size(), 20u);
  EXPECT_EQ(coarse.at("extent"), (Json{32, 32}));
  EXPECT_EQ(dataset_facts({{"id", "cifar-100"}, {"options", {{"labels", "fine"}}}}).at("classes"), 100);
  EXPECT_THROW(dataset_facts({{"id", "cifar-100"}, {"options", {{"label", "fine"}}}}), std::invalid_argument);
}

TEST(CifarItems, SayHowToGetThemWhereTheyAreNot) {
  const TemporaryFolder folder;
  for (const char* id : {"cifar-10", "cifar-100"}) {
    try {
      open_dataset(id, Json::object(), {folder.path(), {}})->split("test");
      FAIL() << id << " is not there";
    } catch (const DataError& error) {
      const std::string archive = std::string(id) + "-binary.tar.gz";
      EXPECT_THAT(error.what(),
                  AllOf(HasSubstr("download " + archive), HasSubstr("https://www.cs.toronto.edu/~kriz/" + archive),
                        HasSubstr("-C " + (folder.path() / id).string())));
    }
  }
}

}  // namespace
}  // namespace locus::engine
